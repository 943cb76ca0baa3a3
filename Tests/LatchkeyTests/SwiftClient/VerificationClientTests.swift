import CarrierSimulator
import Foundation
import LatchkeyClient
import TestSupport
import Testing

/// Verification of a signed-in user's number by redirects with the Swift client, at the simulated operators.
@Suite("The Swift client that verifies a number by redirects", .serialized)
struct VerificationClientTests {
    private typealias MobileOperator = LatchkeyClient.MobileOperator

    private static let northwind = MobileOperator(name: "northwind")
    private static let ofJane = "+12025550123"

    /// The app of a user of another operator.
    private func signedIn(
        _ walk: ProviderWalk, _ transport: any Transport = URLSessionTransport()
    ) async throws -> Latchkey {
        let latchkey = try walk.harness.client(transport)
        let token = try #require(walk.harness.simulator.makeOperatorToken(at: "harbor", user: "mira"))
        _ = try await latchkey.signIn(withOperatorToken: token, at: MobileOperator(name: "harbor"))
        return latchkey
    }

    private func number(_ latchkey: Latchkey) async throws -> String? {
        try await latchkey.me().profile[.phoneNumber]
    }

    /// What the browser of `jane`'s phone ends with.
    private func callback(of verification: RedirectVerification) async throws -> URL {
        let browser = Browser()
        let back = try await browser.get(verification.url.absoluteString)
        return try #require(URL(string: try await browser.get(back.location).location))
    }

    @Test("A phone on its operator's network verifies its number without a page; another number is a mismatch")
    func silent() async throws {
        try await ProviderWalk.withOperators { walk in
            let (network, latchkey) = (SocketCellularNetwork(), try await signedIn(walk))
            let mismatch = try await latchkey.verifyPhoneNumber(
                "+12025550199", on: Phone(mccmnc: "310010", cellular: network), to: ProviderWalk.appURI)
            #expect(mismatch.status == .mismatch)
            #expect(try await number(latchkey) == "+12025550142")
            let verified = try await latchkey.verifyPhoneNumber(
                Self.ofJane, on: Phone(mccmnc: "310012", cellular: network), to: ProviderWalk.appURI)
            #expect(verified.status == .verified && verified.phoneNumber == Self.ofJane)
            #expect(try await number(latchkey) == Self.ofJane)
            #expect(try await latchkey.phoneVerification(verified.id) == verified)
            // The operator, then the callback of the server, twice; they get nothing of the app.
            #expect(network.requests.count == 4)
            #expect(network.requests.allSatisfy { $0.fieldNames == SocketCellularNetwork.namesWithoutApp })
        }
    }

    @Test("The SIM is asked first; a phone that refuses uses its network, and the last outcome counts")
    func ladder() async throws {
        try await ProviderWalk.withOperators { walk in
            let (network, latchkey, simulator) = (
                SocketCellularNetwork(), try await signedIn(walk), walk.harness.simulator
            )
            simulator.device = .wifi
            var phone = Phone(mccmnc: "310010", cellular: network)
            for refusal in [nil, { _ in nil }]
                as [(@Sendable (LatchkeyClient.MobileOperator) async throws -> String?)?]
            {
                phone.operatorToken = refusal
                let failed = try await latchkey.verifyPhoneNumber(Self.ofJane, on: phone, to: ProviderWalk.appURI)
                #expect(failed.status == .failed && failed.error == .notOnMobileNetwork)
            }
            simulator.setFaults([.authorizationServerError], for: "northwind")
            let fault = try await latchkey.verifyPhoneNumber(Self.ofJane, on: phone, to: ProviderWalk.appURI)
            #expect(fault.status == .failed && fault.error == "carrier_error")
            simulator.setFaults([], for: "northwind")
            #expect(try await number(latchkey) == "+12025550142")
            let used = network.endpoints.count
            phone.operatorToken = { _ in simulator.makeOperatorToken(at: "northwind", user: "jane") }
            let verified = try await latchkey.verifyPhoneNumber(Self.ofJane, on: phone, to: ProviderWalk.appURI)
            #expect(verified.status == .verified && network.endpoints.count == used)
            #expect(try await number(latchkey) == Self.ofJane)
        }
    }

    @Test("A verification without any outcome throws the last error")
    func noOutcome() async throws {
        try await ProviderWalk.withOperators { walk in
            let (down, latchkey) = (SocketCellularNetwork(), try await signedIn(walk))
            down.isDown = true
            let cases: [(Phone, String, LatchkeyError.Code)] = [
                (Phone(mccmnc: "310010"), ProviderWalk.appURI, .phoneRefused),
                (Phone(mccmnc: "99999", cellular: down), ProviderWalk.appURI, .operatorUnknown),
                (Phone(mccmnc: "310010", cellular: down), ProviderWalk.appURI, .cellularUnavailable),
                (Phone(mccmnc: "310010", cellular: down), "com.other.app:/cb", "invalid_request"),
            ]
            for (phone, uri, code) in cases {
                let error = try await failure { () async throws(LatchkeyError) in
                    try await latchkey.verifyPhoneNumber(Self.ofJane, on: phone, to: uri)
                }
                #expect(error.code == code)
            }
        }
    }

    @Test("A browser verifies, too, and the verification outlives the app")
    func browser() async throws {
        try await ProviderWalk.withOperators { walk in
            let latchkey = try await signedIn(walk)
            let begun = try await latchkey.startVerification(
                of: Self.ofJane, to: ProviderWalk.appURI, at: Self.northwind)
            #expect(begun.callbackScheme == "com.example.app")
            let coded = try JSONEncoder().encode(begun)
            let verification = try JSONDecoder().decode(RedirectVerification.self, from: coded)
            #expect(verification == begun)
            let pending = try await latchkey.phoneVerification(verification.id)
            #expect(pending.status == .pending && pending.checkedAt == nil)
            let callback = try await callback(of: verification)
            #expect(try await number(latchkey) == "+12025550142")
            let verified = try await latchkey.finish(verification, callback: callback)
            #expect(verified.status == .verified && verified.id == verification.id)
            #expect(try await number(latchkey) == Self.ofJane)
            let again = try await failure { () async throws(LatchkeyError) in
                try await latchkey.finish(verification, callback: callback)
            }
            #expect(again.code == .invalidGrant)
        }
    }

    @Test("The callback of another verification is not sent, and that of another session changes nothing")
    func foreign() async throws {
        try await ProviderWalk.withOperators { walk in
            let network = LossyNetwork()
            let latchkey = try await signedIn(walk, network)
            let attacker = try await signedIn(walk)
            let verification = try await latchkey.startVerification(to: ProviderWalk.appURI, at: Self.northwind)
            let ofAttacker = try await attacker.startVerification(
                of: Self.ofJane, to: ProviderWalk.appURI, at: Self.northwind)
            let callback = try await callback(of: ofAttacker)
            let text = callback.absoluteString
            let sent = network.count
            let ofThis = "action=verify_phone&verification_id=\(verification.id)"
            for foreign in [
                text, text.replacingOccurrences(of: "verify_phone", with: "login"),
                ProviderWalk.appURI + "?\(ofThis)&status=success", ProviderWalk.appURI + "?\(ofThis)&status=pending",
                "com.other.app:/cb?\(ofThis)&status=pending&confirmation=x",
                ProviderWalk.appURI + "?action=login&verification_id=\(verification.id)&status=pending&confirmation=x",
            ] {
                let url = try #require(URL(string: foreign))
                let error = try await failure { () async throws(LatchkeyError) in
                    try await latchkey.finish(verification, callback: url)
                }
                #expect(error.code == .foreignCallback, "\(foreign)")
            }
            #expect(network.count == sent)
            let stolen = try await failure { () async throws(LatchkeyError) in
                try await latchkey.finish(ofAttacker, callback: callback)
            }
            #expect(stolen.code == "not_found")
            #expect(try await number(latchkey) == "+12025550142")
        }
    }

    @Test("A callback that is a failure is thrown; a confirmation that is wrong is sent once, with one session")
    func refused() async throws {
        try await ProviderWalk.withOperators { walk in
            let network = LossyNetwork()
            let latchkey = try await signedIn(walk, network)
            let verification = try await latchkey.startVerification(to: ProviderWalk.appURI, at: Self.northwind)
            let head = ProviderWalk.appURI + "?action=verify_phone&verification_id=\(verification.id)"
            func finish(_ rest: String) async throws -> LatchkeyError {
                let url = try #require(URL(string: head + rest))
                return try await failure { () async throws(LatchkeyError) in
                    try await latchkey.finish(verification, callback: url)
                }
            }
            let failed = try await finish("&status=failure&error=not_found&error_description=gone&message=Sorry")
            #expect(failed.code == "not_found" && failed.message == "gone" && failed.userMessage == "Sorry")
            #expect(try await finish("&status=pending&confirmation=GUESS").code == .invalidGrant)
            let path = "/users/me/phone/verifications/\(verification.id)/confirmation"
            #expect(network.sent(to: path).count == 1 && network.sent(to: "/auth/token").isEmpty)
            network.lose(1, from: path)
            #expect(try await finish("&status=pending&confirmation=GUESS").code == .networkFailure)
            #expect(network.sent(to: path).count == 2)
        }
    }
}
