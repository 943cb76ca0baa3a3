import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins whose userinfo is encrypted for the client, over real sockets.
@Suite(.serialized) struct EncryptedUserInfoTests {
    private typealias Encryption = CarrierSimulator.Client.ResponseEncryption

    /// - Parameter isRegistered: Whether encrypted userinfo is, and not only encrypted ID tokens.
    private func with(
        _ decryption: ResponseDecryption?, _ encryption: Encryption?, signedWith algorithm: SigningAlgorithm? = nil,
        isSigned: Bool = false, encryptsIDTokens: Bool = false, isRegistered: Bool = true,
        _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        func set(_ client: inout Configuration.Client) {
            client.userInfoDecryption = isRegistered ? decryption : nil
            client.userInfoSigningAlgorithm = algorithm
            if encryptsIDTokens { client.idTokenDecryption = decryption }
        }
        try await ProviderWalk.with(
            configure: { configuration in
                set(&configuration.providers[0].clients[0])
                set(&configuration.zenkey.clients[0])
                configuration.zenkey.clients[0].scopes = ["openid", "email"]
            },
            register: {
                $0.userInfoEncryption = encryption
                if encryptsIDTokens { $0.idTokenEncryption = encryption }
            }
        ) { walk in
            for id in ["acme", SignInHarness.mccmnc] where isSigned {
                walk.harness.simulator.update(id) { $0.faults.insert(.userInfoSigned) }
            }
            try await body(walk)
        }
    }

    private func email(_ walk: ProviderWalk, _ browser: Browser) async throws -> String? {
        App.Members(of: try await browser.get(walk.origin + "/users/me").response.body)["email"]?.string
    }

    @Test("Encrypted userinfo gives the attributes, signed or not, by redirect and by code", arguments: [true, false])
    func signsIn(isSigned: Bool) async throws {
        for (pair, management, content) in [
            (try ResponseKeyPair.rsa(), Encryption.KeyManagement.rsaOAEP256, Encryption.Content.a256GCM),
            (.p256(), .ecdhES, .a128GCM),
        ] {
            let ours = ContentEncryption(rawValue: content.rawValue) ?? .a256GCM
            try await with(
                ResponseDecryption(key: try pair.key("enc-1"), encryption: ours),
                Encryption(management, content, publicKeyPEM: pair.publicPEM, keyID: "enc-1"), isSigned: isSigned,
                encryptsIDTokens: isSigned
            ) { walk in
                let browser = Browser()
                let done = try await walk.signIn(browser, at: "acme", ["scope": "openid email"])
                #expect(done.parameters["status"] == "success", "\(done.location)")
                #expect(try await email(walk, browser) == "jane.doe@example.com")
                let answer = try await walk.harness.app.signIn(
                    try walk.harness.authorizedResponse(scope: "openid email"))
                #expect(answer.status == 200)
                #expect(walk.harness.simulator.log.count(.userInfo, SignInHarness.mccmnc) == 1)
                let keys = try await walk.harness.app.send("GET", "/.well-known/jwks.json")
                let published = keys.json["keys"]?.array?.compactMap(\.object).filter { $0["use"]?.string == "enc" }
                #expect(published?.map { $0["kid"]?.string } == ["enc-1"])
                #expect(published?.first?["alg"]?.string == management.rawValue)
            }
        }
    }

    @Test("While the key is replaced, userinfo for either key signs in")
    func rotation() async throws {
        let (old, new) = (ResponseKeyPair.p256(), ResponseKeyPair.p256())
        for (encrypting, id) in [(old, "old"), (new, "new")] {
            try await with(
                ResponseDecryption(key: try new.key("new"), otherKey: try old.key("old"), encryption: .a128GCM),
                Encryption(.ecdhES, .a128GCM, publicKeyPEM: encrypting.publicPEM, keyID: id)
            ) { walk in
                let browser = Browser()
                try await walk.signIn(browser, at: "acme", ["scope": "openid email"])
                #expect(try await email(walk, browser) == "jane.doe@example.com")
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var isRegistered = true
        var idTokensAreEncrypted = false
        var isEncrypted = true
        var isSigned = false
        /// What userinfo is registered to be signed with.
        var algorithm: SigningAlgorithm?
        var isForOtherKey = false
        var content = CarrierSimulator.Client.ResponseEncryption.Content.a128GCM
        var change: @Sendable (inout [UInt8]) -> Void = { _ in }
        let says: String
    }

    private static let encryption = "must be encrypted for the client's decryption_key"

    @Test(
        "A response that is not encrypted as registered is refused, and signs nobody in",
        arguments: [
            Row(testDescription: "plain JSON", isEncrypted: false, says: "is not encrypted"),
            Row(testDescription: "signed only", isEncrypted: false, isSigned: true, says: encryption),
            Row(testDescription: "for another key", isForOtherKey: true, says: encryption),
            Row(testDescription: "with another enc", content: .a256GCM, says: encryption),
            Row(
                testDescription: "changed",
                change: { $0[$0.count - 3] = $0[$0.count - 3] == UInt8(ascii: "A") ? 0x42 : 0x41 }, says: encryption),
            Row(testDescription: "not registered", isRegistered: false, says: "is a JWT that is encrypted"),
            Row(
                testDescription: "not registered, and signed", isRegistered: false, isSigned: true,
                says: "is a JWT that is encrypted"),
            Row(
                testDescription: "not registered, but encrypted ID tokens are", isRegistered: false,
                idTokensAreEncrypted: true, says: "is a JWT that is encrypted"),
            Row(testDescription: "not signed as registered", algorithm: .rs256, says: "compact form"),
            Row(
                testDescription: "signed with another algorithm than registered", isSigned: true, algorithm: .ps256,
                says: "signed with PS256"),
        ])
    func refused(_ row: Row) async throws {
        let (pair, other) = (ResponseKeyPair.p256(), ResponseKeyPair.p256())
        let encryption = Encryption(
            .ecdhES, row.content, publicKeyPEM: row.isForOtherKey ? other.publicPEM : pair.publicPEM)
        try await with(
            ResponseDecryption(key: try pair.key("enc-1"), encryption: .a128GCM),
            row.isEncrypted ? encryption : nil, signedWith: row.algorithm, isSigned: row.isSigned,
            encryptsIDTokens: row.idTokensAreEncrypted, isRegistered: row.isRegistered
        ) { walk in
            walk.harness.simulator.update("acme") {
                $0.tampering.responses[.userInfo, default: []].append { row.change(&$0.body) }
            }
            let browser = Browser()
            let done = try await walk.signIn(browser, at: "acme", ["scope": "openid email"])
            #expect(done.parameters["status"] == "failure", "\(done.location)")
            #expect(done.parameters["error_description"]?.contains(row.says) == true, "\(done.location)")
            #expect(walk.sessionCookie(browser) == nil)
            #expect(walk.harness.simulator.log.count(.userInfo, "acme") == 1)
        }
    }
}
