import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins whose tokens are bound to a key (DPoP, RFC 9449), over real sockets. The simulator then refuses a request
/// without the right proof.
@Suite(.serialized) struct DPoPTests {
    private func with(
        _ faults: Set<CarrierSimulator.Fault>, at provider: String = "acme",
        _ configure: (inout Configuration) -> Void = { _ in }, _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        try await ProviderWalk.with(configure: configure) { walk in
            walk.harness.simulator.setFaults(faults, for: provider)
            try await body(walk)
        }
    }

    /// A configuration in which `acme` stores tokens and has a resource.
    private func storing(_ configuration: inout Configuration) {
        configuration.encryptionKeys = EncryptionKey.of(ResourceHarness.key)
        configuration.providers[0].rules.storesTokens = true
        let url = configuration.providers[0].issuer.text + "/v2/users/me/token?type=zak"
        configuration.providers[0].rules.resources = [
            "zak": EndpointURL(url, policy: .allowLoopbackHTTP) ?? configuration.providers[0].issuer
        ]
    }

    private func log(_ walk: ProviderWalk) -> CarrierSimulator.RequestLog { walk.harness.simulator.log }

    private func entries(
        _ walk: ProviderWalk, _ endpoint: CarrierSimulator.RequestLog.Endpoint, _ provider: String = "acme"
    ) -> [CarrierSimulator.RequestLog.Entry] {
        log(walk).entries.filter { $0.endpoint == endpoint && $0.mccmnc == provider }
    }

    /// The claims of a request's proof; nil if it has none.
    private func claims(_ entry: CarrierSimulator.RequestLog.Entry?) throws -> JSONObject? {
        let parts = entry?.proof?.split(separator: ".").map(String.init) ?? []
        guard parts.count == 3, let bytes = Base64URL.decode(parts[1]) else { return nil }
        return try JSONValue(parsing: bytes).object
    }

    private func fetch(_ walk: ProviderWalk, _ token: String?) async throws -> App.Answer {
        try await walk.harness.app.send(
            "GET", "/auth/acme/resources/zak", headers: ["Authorization: Bearer \(token ?? "-")"])
    }

    @Test("A provider that demands bound tokens gets proofs at each endpoint, of the key that the browser named")
    func redirect() async throws {
        try await with([.dpopRequired]) { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme", ["scope": "openid email"])
            #expect(asked.parameters["dpop_jkt"]?.utf8.count == 43)
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "success", "\(done.location)")
            #expect(try await walk.userID(browser) != nil)
            #expect(entries(walk, .token).count == 1)
            #expect(try claims(entries(walk, .token).last)?["nonce"] == nil)
            let userInfo = try #require(entries(walk, .userInfo).last)
            #expect(userInfo.authorization?.hasPrefix("DPoP ") == true)
            #expect(try claims(userInfo)?["ath"] != nil)
        }
    }

    @Test("With pushed requests the key is named there, with a proof, and not in the browser")
    func pushed() async throws {
        try await with([.dpopRequired, .parRequired, .dpopNonce]) { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme")
            #expect(asked.parameters.items.map(\.name) == ["client_id", "request_uri"])
            let pushes = entries(walk, .pushedAuthorization)
            #expect(pushes.count == 2, "the second one has the nonce that was demanded")
            #expect(pushes.allSatisfy { $0["dpop_jkt"]?.utf8.count == 43 && $0.proof != nil })
            let nonces = try pushes.map { try claims($0)?["nonce"]?.string }
            #expect(nonces.map { $0 != nil } == [false, true])
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "success", "\(done.location)")
            #expect(entries(walk, .token).count == 1, "the response to the push had the next nonce")
        }
    }

    @Test("An app's code is redeemed with a new key, also at a carrier")
    func code() async throws {
        try await with([.dpopRequired], at: SignInHarness.mccmnc) { walk in
            var fields = try walk.harness.authorizedResponse(scope: "openid name")
            fields["scope"] = "openid name"
            let answer = try await walk.harness.app.signIn(fields)
            #expect(answer.status == 200, "\(answer.response.text)")
            let carrier = SignInHarness.mccmnc
            #expect(entries(walk, .token, carrier).map { $0.proof != nil } == [true])
            #expect(entries(walk, .userInfo, carrier).last?.authorization?.hasPrefix("DPoP ") == true)
        }
    }

    @Test("A demanded nonce is sent once more at each endpoint, and then known")
    func nonces() async throws {
        try await with([.dpopRequired, .dpopNonce]) { walk in
            for (number, requests) in [(1, 2), (2, 3)] {
                let done = try await walk.signIn(Browser(), at: "acme", ["scope": "openid email"])
                #expect(done.parameters["status"] == "success", "\(done.location)")
                #expect(entries(walk, .token).count == requests, "sign-in \(number)")
                #expect(entries(walk, .userInfo).count == requests, "sign-in \(number)")
            }
            let proofs = try entries(walk, .token).compactMap { try claims($0) }
            #expect(Set(proofs.compactMap { $0["jti"]?.string }).count == 3)
            #expect(Set(entries(walk, .token).compactMap { $0["code"] }).count == 2)
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let tokenRequests: Int
        let says: String
        var testDescription: String { fault.name }
    }

    @Test(
        "A downgrade, and nonces without end or sense, end the sign-in",
        arguments: [
            Failure(fault: .dpopBearer, tokenRequests: 1, says: "token_type other than DPoP"),
            Failure(fault: .dpopEndlessNonces, tokenRequests: 2, says: "demand for another DPoP nonce"),
            Failure(fault: .dpopLongNonce, tokenRequests: 1, says: "no valid nonce"),
            Failure(fault: .dpopInvalidNonce, tokenRequests: 1, says: "no valid nonce"),
        ])
    func fails(row: Failure) async throws {
        try await with([.dpopRequired, row.fault]) { walk in
            let done = try await walk.signIn(Browser(), at: "acme", ["scope": "openid email"])
            #expect(done.parameters["error"] == "carrier_error")
            let description = done.parameters["error_description"] ?? ""
            #expect(description.contains(row.says), "\(description)")
            #expect(entries(walk, .token).count == row.tokenRequests)
            #expect(entries(walk, .userInfo).isEmpty)
            // The app's retry does not send the code again.
            let fields = try walk.code(at: "acme")
            for _ in 0..<2 {
                let answer = try await walk.harness.app.send(
                    "POST", "/auth/acme/sign-in", headers: ["Content-Type: application/json"], body: App.json(fields))
                #expect(answer.status == 502, "\(answer.response.text)")
            }
            #expect(entries(walk, .token).count == 2 * row.tokenRequests)
        }
    }

    @Test("Stored tokens are bound if the provider can, and the key stays for resources and refreshes")
    func stored() async throws {
        try await with([.dpopSupported, .dpopNonce], { storing(&$0) }) { walk in
            let token = try await walk.token(at: "acme")
            #expect(try await fetch(walk, token).response.text == #"{"token":"zak-of-jane"}"#)
            #expect(entries(walk, .resource).count == 2, "the first request was asked for a nonce")
            #expect(entries(walk, .resource).allSatisfy { $0.authorization?.hasPrefix("DPoP ") == true })
            walk.harness.simulator.expireAccessTokens(at: "acme")
            #expect(try await fetch(walk, token).response.text == #"{"token":"zak-of-jane"}"#)
            let refreshes = entries(walk, .token).filter { $0["grant_type"] == "refresh_token" }
            #expect(refreshes.count == 1 && refreshes.allSatisfy { $0.proof != nil })
            // Another instance reads the key from the database.
            try await walk.harness.withInstance { app, _ in
                let answer = try await app.send(
                    "GET", "/auth/acme/resources/zak", headers: ["Authorization: Bearer \(token ?? "-")"])
                #expect(answer.response.text == #"{"token":"zak-of-jane"}"#)
            }
        }
    }

    @Test("What a provider only supports is not used for tokens that are forgotten, and may be answered with Bearer")
    func offered() async throws {
        try await with([.dpopSupported]) { walk in
            let asked = try await walk.start(Browser(), at: "acme", ["scope": "openid email"])
            #expect(asked.parameters["dpop_jkt"] == nil)
            #expect(try await walk.token(at: "acme") != nil)
            #expect(entries(walk, .token).allSatisfy { $0.proof == nil })
        }
        try await with([.dpopSupported, .dpopBearer], { storing(&$0) }) { walk in
            let token = try await walk.token(at: "acme")
            #expect(entries(walk, .token).allSatisfy { $0.proof != nil })
            #expect(try await fetch(walk, token).status == 200)
            #expect(entries(walk, .resource).allSatisfy { $0.authorization?.hasPrefix("Bearer ") == true })
        }
    }

    @Test("With dpop: never there is no proof, whatever the metadata demands; with always a Bearer token is refused")
    func settings() async throws {
        try await with([.dpopRequired], { $0.providers[0].extensions.dpop = .never }) { walk in
            let token = try await walk.token(at: "acme")
            #expect(token == nil)
            #expect(entries(walk, .token).map(\.proof) == [nil])
        }
        try await with([], { $0.providers[0].extensions.dpop = .always }) { walk in
            let token = try await walk.token(at: "acme")
            #expect(token == nil)
            #expect(entries(walk, .token).map { $0.proof != nil } == [true])
        }
    }
}
