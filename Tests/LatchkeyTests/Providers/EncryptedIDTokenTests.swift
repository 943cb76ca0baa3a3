import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins whose ID tokens are encrypted for the client, over real sockets.
@Suite(.serialized) struct EncryptedIDTokenTests {
    private typealias Encryption = CarrierSimulator.Client.ResponseEncryption

    private typealias Pair = ResponseKeyPair

    private func with(
        _ decryption: ResponseDecryption?, _ encryption: Encryption?,
        _ configure: (inout Configuration) -> Void = { _ in }, _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                configuration.providers[0].clients[0].idTokenDecryption = decryption
                configuration.zenkey.clients[0].idTokenDecryption = decryption
                configure(&configuration)
            }, register: { $0.idTokenEncryption = encryption }, body)
    }

    @Test("An encrypted ID token signs in, by redirect and by code; logout brings back the signed token in it")
    func signsIn() async throws {
        for (pair, management, content) in [
            (try Pair.rsa(), Encryption.KeyManagement.rsaOAEP256, Encryption.Content.a256GCM),
            (Pair.p256(), .ecdhES, .a128GCM),
        ] {
            let ours = ContentEncryption(rawValue: content.rawValue) ?? .a256GCM
            try await with(
                ResponseDecryption(key: try pair.key("enc-1"), encryption: ours),
                Encryption(management, content, publicKeyPEM: pair.publicPEM, keyID: "enc-1")
            ) { walk in
                let browser = Browser()
                let done = try await walk.signIn(browser, at: "acme")
                #expect(done.parameters["status"] == "success", "\(done.location)")
                let answer = try await walk.harness.app.signIn(try walk.harness.authorizedResponse())
                #expect(answer.status == 200)

                let keys = try await walk.harness.app.send("GET", "/.well-known/jwks.json")
                let published = keys.json["keys"]?.array?.compactMap(\.object).filter { $0["use"]?.string == "enc" }
                #expect(published?.map { $0["kid"]?.string } == ["enc-1"])
                #expect(published?.first?["alg"]?.string == management.rawValue)

                let page = try await browser.post(
                    walk.origin + "/auth/acme/logout", form: ["post_logout_redirect_uri": ProviderWalk.webURI],
                    headers: ["Sec-Fetch-Site: same-origin"])
                let hint = try #require(page.parameters["id_token_hint"])
                #expect(hint == walk.harness.simulator.latestIDToken(at: "acme"))
                #expect(hint.split(separator: ".").count == 3)
            }
        }
    }

    @Test("The ID token of a refresh is decrypted, too")
    func refreshed() async throws {
        let pair = Pair.p256()
        try await with(
            ResponseDecryption(key: try pair.key("enc-1"), encryption: .a256GCM),
            Encryption(.ecdhES, .a256GCM, publicKeyPEM: pair.publicPEM)
        ) { configuration in
            configuration.encryptionKeys = EncryptionKey.of(ResourceHarness.key)
            configuration.providers[0].rules.storesTokens = true
            let url = configuration.providers[0].issuer.text + "/v2/users/me/token?type=zak"
            configuration.providers[0].rules.resources = [
                "zak": EndpointURL(url, policy: .allowLoopbackHTTP) ?? configuration.providers[0].issuer
            ]
        } _: { walk in
            let token = try await walk.token(at: "acme")
            walk.harness.simulator.expireAccessTokens(at: "acme")
            let answer = try await walk.harness.app.send(
                "GET", "/auth/acme/resources/zak", headers: ["Authorization: Bearer \(token ?? "-")"])
            #expect(answer.status == 200)
            #expect(
                walk.harness.simulator.log.entries.filter { $0["grant_type"] == "refresh_token" }.count == 1)
        }
    }

    @Test("While the key is replaced, tokens for either key sign in")
    func rotation() async throws {
        let (old, new) = (Pair.p256(), Pair.p256())
        for (encrypting, id) in [(old, "old"), (new, "new")] {
            try await with(
                ResponseDecryption(key: try new.key("new"), otherKey: try old.key("old"), encryption: .a128GCM),
                Encryption(.ecdhES, .a128GCM, publicKeyPEM: encrypting.publicPEM, keyID: id)
            ) { walk in
                #expect(try await walk.signIn(Browser(), at: "acme").parameters["status"] == "success")
                let keys = try await walk.harness.app.send("GET", "/.well-known/jwks.json")
                let ids = keys.json["keys"]?.array?.compactMap(\.object).compactMap { $0["kid"]?.string } ?? []
                #expect(ids.contains("new") && !ids.contains("old"), "providers take the new one")
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var isRegistered = true
        var isEncrypted = true
        var isForOtherKey = false
        var content = CarrierSimulator.Client.ResponseEncryption.Content.a128GCM
        var change: @Sendable (inout String) -> Void = { _ in }
        let check: String
    }

    @Test(
        "A token that is not encrypted as registered is refused, and signs nobody in",
        arguments: [
            Row(testDescription: "not encrypted", isEncrypted: false, check: "encryption"),
            Row(testDescription: "for another key", isForOtherKey: true, check: "encryption"),
            Row(testDescription: "with another enc", content: .a256GCM, check: "encryption"),
            Row(
                testDescription: "changed",
                change: { $0 = String($0.dropLast()) + ($0.hasSuffix("A") ? "Q" : "A") }, check: "encryption"),
            Row(testDescription: "not registered", isRegistered: false, check: "format"),
        ])
    func refused(_ row: Row) async throws {
        let (pair, other) = (Pair.p256(), Pair.p256())
        let encryption = Encryption(
            .ecdhES, row.content, publicKeyPEM: row.isForOtherKey ? other.publicPEM : pair.publicPEM)
        try await with(
            row.isRegistered ? ResponseDecryption(key: try pair.key("enc-1"), encryption: .a128GCM) : nil,
            row.isEncrypted ? encryption : nil
        ) { walk in
            walk.harness.simulator.update("acme") { $0.tampering.compactForms.append(row.change) }
            let browser = Browser()
            let done = try await walk.signIn(browser, at: "acme")
            #expect(done.parameters["error"] == "invalid_id_token", "\(done.location)")
            #expect(done.parameters["error_description"]?.contains("(\(row.check))") == true, "\(done.location)")
            #expect(walk.sessionCookie(browser) == nil)
        }
    }
}
