import CarrierSimulator
import Crypto
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

extension ProviderWalk {
    static let appURI = "com.example.app:/signed-in"

    /// A harness whose provider `number` has the simulator's two operators.
    static func withOperators(
        simSwap: SIMSwapPolicy = .init(), _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        let key = P256.Signing.PrivateKey()
        try await Self.with(
            configure: { configuration in
                let base = configuration.zenkey.discoveryURL?.text.split(separator: "/").prefix(2) ?? []
                for (name, networks) in [("northwind", ["310010", "310012"]), ("harbor", ["310260"])] {
                    let issuer = base.joined(separator: "//") + "/operators/" + name
                    if let provider = Self.provider(name, networks, issuer, key, simSwap) {
                        configuration.providers.append(provider)
                    }
                }
            }, register: { $0.authentication = .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation) }
        ) { try await body($0) }
    }

    private static func provider(
        _ name: String, _ networks: [String], _ issuer: String, _ key: P256.Signing.PrivateKey,
        _ simSwap: SIMSwapPolicy
    ) -> Configuration.Provider? {
        func url(_ text: String) -> EndpointURL? { EndpointURL(text, policy: .allowLoopbackHTTP) }
        guard let issuer = url(issuer), let apis = url(issuer.text + "/api").flatMap(OperatorAPIs.init),
            let purpose = Purpose("dpv:FraudPreventionAndDetection"), let id = ClientID(SignInHarness.clientID),
            let key = try? ClientKey(parsing: Secret(key.pemRepresentation))
        else { return nil }
        var mobileOperator = MobileOperatorSettings(
            name: name, networks: Set(networks.compactMap(MCCMNC.init)), apis: apis, purpose: purpose)
        mobileOperator.simSwap = simSwap
        var client = Configuration.Client(id: id, authentication: .privateKeyJWT(key, audience: .endpoint))
        client.redirectURIs = [webURI, appURI]
        client.scopes = mobileOperator.scopes
        client.signingKey = key
        var provider = Configuration.Provider(
            id: "number/\(name)", kind: .camara, name: "My number", issuer: issuer, clients: [client])
        provider.mobileOperator = mobileOperator
        return provider
    }

    /// The page at which a browser ends that begins with these parameters, without a page of the operator between.
    func signInByNumber(_ browser: Browser, _ fields: [String: String]) async throws -> Browser.Page {
        let start = try await start(browser, at: "number", fields)
        return try await browser.get(try await browser.get(start.location).location)
    }

    /// Signs a user in with an operator token.
    func signIn(withOperatorTokenAt name: String, user: String? = nil) async throws -> App.Answer {
        let token = try #require(harness.simulator.makeOperatorToken(at: name, user: user))
        return try await harness.app.post("/auth/number/sign-in", ["operator_token": token, "operator": name])
    }
}

/// Phone numbers, from the simulated operators, which hold clients to CAMARA's profile.
@Suite("Mobile operators over sockets")
struct MobileOperatorTests {
    @Test("A browser in the mobile network is signed in by its number, without a page of the operator")
    func redirects() async throws {
        try await ProviderWalk.withOperators { walk in
            for fields in [["operator": "northwind"], ["mccmnc": "310012"], ["mccmnc": "310260"]] {
                let browser = Browser()
                let end = try await walk.signInByNumber(browser, fields)
                #expect(end.location.contains("status=success"), "\(end.location)")
                let me = App.Members(of: try await browser.get(walk.origin + "/users/me").response.body)
                #expect(me["phone_number_verified"]?.bool == true)
                #expect(me["phone_number_verified_by"]?.string?.contains("/operators/") == true)
            }
        }
    }

    @Test("By Wi-Fi the app is told to use another way, and an operator token is one")
    func fallback() async throws {
        try await ProviderWalk.withOperators { walk in
            walk.harness.simulator.device = .wifi
            let end = try await walk.signInByNumber(Browser(), ["operator": "northwind"])
            #expect(end.location.contains("error=not_on_mobile_network"), "\(end.location)")
            for name in ["northwind", "harbor"] {
                let answer = try await walk.signIn(withOperatorTokenAt: name)
                let token = try #require(answer.token, "\(answer.response)")
                #expect(try await walk.harness.app.me(token).json["phone_number_verified"]?.bool == true)
            }
        }
    }

    @Test("A changed SIM is refused, and one that was changed long ago is not")
    func simSwap() async throws {
        var policy = SIMSwapPolicy()
        (policy.maximumAge, policy.ifSwapped) = (72, .refuse)
        try await ProviderWalk.withOperators(simSwap: policy) { walk in
            #expect(try await walk.signIn(withOperatorTokenAt: "northwind").status == 200)
            let now = WallClock.system.now()
            for (hours, status) in [(1, 403), (100, 200)] as [(Int64, Int)] {
                let time = now.advanced(bySeconds: -3600 * hours)
                walk.harness.simulator.setSIMChange(at: time, of: "jane", at: "northwind")
                let answer = try await walk.signIn(withOperatorTokenAt: "northwind", user: "jane")
                #expect(answer.status == status, "\(answer.response)")
            }
        }
    }

    @Test("The number of a signed-in user is verified by the operator, which compares it")
    func verification() async throws {
        try await ProviderWalk.withOperators { walk in try await walk.verifyNumbers() }
    }
}

extension ProviderWalk {
    /// A verification that succeeds, its outcome, and one with another number.
    func verifyNumbers() async throws {
        let session = try #require(try await signIn(withOperatorTokenAt: "northwind", user: "jane").token)
        let number = try #require(try await harness.app.me(session).json["phone_number"]?.string)
        for (asked, status) in [(number, "verified"), ("+12025550199", "mismatch")] {
            let operatorToken = try #require(harness.simulator.makeOperatorToken(at: "northwind", user: "jane"))
            let answer = try await harness.app.asUser(
                "POST", "/users/me/phone/verifications", session,
                ["phone_number": asked, "operator": "northwind", "operator_token": operatorToken])
            #expect(answer.status == 200 && answer.json["status"]?.string == status, "\(answer.response)")
            let id = try #require(answer.json["verification_id"]?.string)
            let again = try await harness.app.asUser("GET", "/users/me/phone/verifications/\(id)", session)
            #expect(again.json["status"]?.string == status)
            try await verifyByRedirect(session, asked, status)
            #expect(try await harness.app.me(session).json["phone_number"]?.string == number)
        }
        let refused = try await harness.app.asUser(
            "POST", "/users/me/phone/verifications", session,
            ["phone_number": number, "operator": "northwind", "operator_token": "unknown"])
        #expect(refused.json["status"]?.string == "failed", "\(refused.response)")
        let malformed = try await harness.app.asUser(
            "POST", "/users/me/phone/verifications", session,
            ["phone_number": "none", "operator": "northwind", "operator_token": "unknown"])
        #expect(malformed.error == "invalid_request", "\(malformed.response)")
        let metrics = try await harness.app.metrics()
        func count(_ name: String, _ outcome: String) -> Double {
            metrics.sum("latchkey_phone_verifications_total", #"operator="\#(name)",outcome="\#(outcome)""#)
        }
        // Each number was verified by a token and by redirects, and the latter are confirmed.
        #expect(count("northwind", "verified") == 2)
        #expect(count("northwind", "mismatch") == 2)
        #expect(count("northwind", "confirmed") == 2)
        #expect(count("northwind", "invalid_grant") == 1)
        #expect(count("", "invalid_request") == 1)
        #expect(metrics.sum("latchkey_phone_verifications_total") == 8)
    }

    /// A verification of a number of jane's over the mobile network, in a browser without cookies of this server.
    func verifyByRedirect(_ session: String, _ number: String, _ status: String) async throws {
        let path = "/users/me/phone/verifications"
        let started = try await harness.app.asUser(
            "POST", path, session,
            ["phone_number": number, "operator": "northwind", "redirect_uri": ProviderWalk.webURI])
        try #require(started.status == 201, "\(started.response)")
        let url = try #require(started.json["authorization_url"]?.string)
        let back = try await Browser().get(url, headers: ["X-Simulated-Device: cellular:northwind:jane"])
        try #require(back.status == 302, "\(back.text)")
        let end = try await Browser().get(back.location)
        try #require(end.location.hasPrefix(ProviderWalk.webURI), "\(end.text)")
        let id = try #require(end.parameters["verification_id"])
        let confirmation = try #require(end.parameters["confirmation"])
        let answer = try await harness.app.asUser(
            "POST", "\(path)/\(id)/confirmation", session, ["confirmation": confirmation])
        #expect(answer.status == 200 && answer.json["status"]?.string == status, "\(answer.response)")
    }
}
