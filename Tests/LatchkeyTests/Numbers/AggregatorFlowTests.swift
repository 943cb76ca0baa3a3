import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

extension ProviderWalk {
    static let pageOrigin = "https://shop.example"
    static let aggregatedNumber = "+12025550123"

    /// A harness whose provider `carriers` is the simulated aggregator, where numbers register.
    static func withAggregator(
        clock: WallClock = .system, _ change: (inout AggregatorRules) -> Void = { _ in },
        _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        try await Self.with(
            clock: clock,
            configure: { configuration in
                let base = configuration.zenkey.discoveryURL?.text.split(separator: "/").prefix(2) ?? []
                var rules = AggregatorRules()
                rules.credentialOrigins = [pageOrigin]
                rules.linkNetworks = Set([MCCMNC("311480")].compactMap(\.self))
                rules.verifiesDesktops = true
                change(&rules)
                let provider = aggregator(base.joined(separator: "//") + "/aggregator", rules)
                if let provider { configuration.providers.append(provider) }
            }
        ) { try await body($0) }
    }

    private static func aggregator(_ base: String, _ rules: AggregatorRules) -> Configuration.Provider? {
        func url(_ path: String) -> EndpointURL? { EndpointURL(base + path, policy: .allowLoopbackHTTP) }
        guard let issuer = url(""), let id = ClientID(SignInHarness.clientID), let token = url("/token"),
            let prepare = url("/prepare"), let process = url("/process")
        else { return nil }
        var client = Configuration.Client(id: id, secret: Secret(SignInHarness.secret))
        client.scopes = []
        client.redirectURIs = [SignInHarness.redirectURI, appURI]
        var provider = Configuration.Provider(id: "carriers", kind: .aggregator, issuer: issuer, clients: [client])
        provider.rules.endpoints = [
            "token_endpoint": token, "prepare_endpoint": prepare, "process_endpoint": process,
        ]
        provider.aggregator = rules
        provider.numberRules = NumberSignInRules()
        provider.numberRules?.registersUnknown = true
        return provider
    }

    /// Begins a sign-in.
    func startCredential(_ more: [String: String] = [:]) async throws -> JSONObject {
        let started = try await harness.app.post(
            "/auth/carriers/start", ["method": "digital_credential"].merging(more) { $1 })
        try #require(started.status == 201, "\(started.response)")
        return try #require((try? JSONValue(parsing: started.response.body))?.object)
    }

    /// What the wallet answers.
    func present(
        _ started: JSONObject, to origin: String = pageOrigin, number: String = aggregatedNumber,
        faults: Set<CarrierSimulator.CredentialFault> = []
    ) async throws -> String {
        let request = try #require(started["request"]?.object)
        return try await harness.simulator.presentCredential(for: request, to: origin, of: number, faults: faults)
    }

    func confirm(_ started: JSONObject, _ fields: [String: String]) async throws -> App.Answer {
        let id = try #require(started["sign_in_id"]?.string)
        return try await harness.app.post("/auth/carriers/start/\(id)/confirmation", fields)
    }

    /// A whole sign-in: the session's token.
    func signInWithCredential() async throws -> String {
        let started = try await startCredential()
        let answer = try await confirm(started, ["vp_token": try await present(started)])
        return try #require(answer.token, "\(answer.response)")
    }
}

/// Digital credentials, with the simulated aggregator and wallet.
@Suite("Digital credentials over sockets")
struct AggregatorFlowTests {
    @Test("A credential signs its number in, once, and another one signs in the same user")
    func signIn() async throws {
        try await ProviderWalk.withAggregator { walk in
            let started = try await walk.startCredential(["mccmnc": "310260"])
            let text = try await walk.present(started)
            let first = try await walk.confirm(started, ["vp_token": text])
            let session = try #require(first.token, "\(first.response)")
            let me = try await walk.harness.app.me(session).json
            #expect(me["phone_number"]?.string == ProviderWalk.aggregatedNumber)
            #expect(me["phone_number_verified"]?.bool == true)
            #expect(try await walk.confirm(started, ["vp_token": text]).error == "invalid_grant")
            let other = try await walk.signInWithCredential()
            #expect(try await walk.harness.app.me(other).json["user_id"] == me["user_id"])
        }
    }

    @Test("A wallet's response that is not for this request is refused, whatever is wrong with it")
    func wallets() async throws {
        try await ProviderWalk.withAggregator { walk in
            let checks: [CarrierSimulator.CredentialFault: String] = [
                .otherNonce: "nonce", .otherOrigin: "audience", .wrongKeyBinding: "signature", .otherHash: "sd_hash",
            ]
            for fault in CarrierSimulator.CredentialFault.allCases {
                let started = try await walk.startCredential()
                let answer = try await walk.confirm(
                    started, ["vp_token": try await walk.present(started, faults: [fault])])
                #expect(answer.status == 401 && answer.error == "credential_invalid", "\(answer.response)")
                let text = answer.json["error_description"]?.string ?? ""
                #expect(text.contains("(\(checks[fault] ?? "no check"))"), "\(text)")
            }
            let (one, other) = (try await walk.startCredential(), try await walk.startCredential())
            let replayed = try await walk.confirm(one, ["vp_token": try await walk.present(other)])
            #expect(replayed.error == "credential_invalid")
        }
    }

    @Test("What the aggregator refuses is its error, and a changed SIM is refused where the settings say so")
    func aggregators() async throws {
        try await ProviderWalk.withAggregator {
            $0.simSwap.ifSwapped = .refuse
        } _: { walk in
            for (fault, error) in [
                (CarrierSimulator.AggregatorFault.expiredSession, "aggregator_error"), (.swappedSIM, "sim_swapped"),
            ] {
                walk.harness.simulator.aggregatorFaults = [fault]
                let started = try await walk.startCredential()
                let answer = try await walk.confirm(started, ["vp_token": try await walk.present(started)])
                #expect(answer.error == error, "\(answer.response)")
            }
        }
    }

    @Test("A number of somebody else verifies nothing")
    func otherNumber() async throws {
        try await ProviderWalk.withAggregator { walk in
            let session = try await walk.signInWithCredential()
            for faults: Set<CarrierSimulator.AggregatorFault> in [[.otherNumber], []] {
                walk.harness.simulator.aggregatorFaults = faults
                let app = walk.harness.app
                let answer = try await app.asUser(
                    "POST", "/users/me/phone/verifications", session,
                    ["method": "digital_credential", "phone_number": ProviderWalk.aggregatedNumber])
                try #require(answer.status == 201, "\(answer.response)")
                let started = try #require((try? JSONValue(parsing: answer.response.body))?.object)
                let id = try #require(started["verification_id"]?.string)
                let end = try await app.asUser(
                    "POST", "/users/me/phone/verifications/\(id)/confirmation", session,
                    ["vp_token": try await walk.present(started)])
                #expect(end.json["status"]?.string == (faults.isEmpty ? "verified" : "mismatch"), "\(end.response)")
            }
        }
    }

    @Test("A link signs in where its own browser brings the code, and a code of another browser signs nobody in")
    func link() async throws {
        try await ProviderWalk.withAggregator { walk in
            let fields = ["mccmnc": "311480", "redirect_uri": SignInHarness.redirectURI]
            let (mine, theirs) = (try await walk.startCredential(fields), try await walk.startCredential(fields))
            func code(_ started: JSONObject) async throws -> String {
                let url = try #require(started["authorization_url"]?.string)
                let back = try await Browser().get(url + "?phone_number=%2B12025550123")
                try #require(back.location.hasPrefix(SignInHarness.redirectURI), "\(back.text)")
                return try #require(back.parameters["code"])
            }
            let theirCode = try await code(theirs)
            _ = try await code(mine)
            #expect(try await walk.confirm(mine, ["code": theirCode]).error == "aggregator_error")
            let end = try await walk.confirm(theirs, ["code": theirCode])
            let session = try #require(end.token, "\(end.response)")
            let me = try await walk.harness.app.me(session).json
            #expect(me["phone_number"]?.string == ProviderWalk.aggregatedNumber)
        }
    }

    @Test("A QR code verifies the number once its phone has scanned it, and no number of another phone")
    func desktop() async throws {
        try await ProviderWalk.withAggregator { walk in
            let app = walk.harness.app
            let session = try await walk.signInWithCredential()
            let path = "/users/me/phone/verifications"
            for (scanned, status) in [("+12025550199", "mismatch"), (ProviderWalk.aggregatedNumber, "verified")] {
                let started = try await app.asUser(
                    "POST", path, session,
                    [
                        "method": "digital_credential", "strategy": "desktop",
                        "phone_number": ProviderWalk.aggregatedNumber,
                    ])
                let id = try #require(started.json["verification_id"]?.string, "\(started.response)")
                let end = "\(path)/\(id)/confirmation"
                let waiting = try await app.asUser("POST", end, session, ["poll": "true"])
                #expect(waiting.json["status"]?.string == "pending", "\(waiting.response)")
                _ = try await Browser().post(
                    try #require(started.json["qr_code"]?.string), form: ["phone_number": scanned])
                let outcome = try await app.asUser("POST", end, session, ["poll": "true"])
                #expect(outcome.json["status"]?.string == status, "\(outcome.response)")
            }
        }
    }
}
