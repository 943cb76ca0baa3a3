import CarrierSimulator
import Foundation
import LatchkeyClient
import LatchkeyConfiguration
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-in and verification by phone number with the Swift client, at the simulated operators.
@Suite("The Swift client by phone number", .serialized)
struct NumberClientTests {
    private static let northwind = LatchkeyClient.MobileOperator(name: "northwind")

    /// The code of an outcome that is another way; nil for a session.
    private func reason(_ outcome: NumberSignIn) -> LatchkeyError.Code? {
        if case .otherWay(let error) = outcome { error.code } else { nil }
    }

    private func evidence(_ outcome: NumberSignIn) -> NumberSignIn.Evidence? {
        if case .signedIn(_, let evidence) = outcome { evidence } else { nil }
    }

    @Test("A phone on its operator's network is signed in without a page, and the operator gets nothing of the app")
    func silent() async throws {
        try await ProviderWalk.withOperators { walk in
            let network = SocketCellularNetwork()
            let latchkey = try walk.harness.client()
            let outcome = try await latchkey.signInByNumber(
                to: ProviderWalk.appURI, at: .init(mccmnc: "310012"), over: network)
            #expect(evidence(outcome) == .network)
            let user = try await latchkey.me()
            #expect(user.profile[.phoneNumber] == "+12025550123")
            #expect(user.phoneNumberVerification?.issuer.hasSuffix("/operators/northwind") == true)
            // The operator, then the callback of the server.
            #expect(network.requests.count == 2)
            #expect(network.requests[0].target.hasPrefix("/operators/northwind/authorize?"))
            #expect(network.requests[1].target.hasPrefix("/auth/number/callback?"))
            #expect(network.requests.allSatisfy { $0.fieldNames == SocketCellularNetwork.namesWithoutApp })
        }
    }

    @Test(
        "Over Wi-Fi, or without a cellular network, the SIM is recognised by an operator token",
        arguments: [false, true])
    func bySIM(isDown: Bool) async throws {
        try await ProviderWalk.withOperators { walk in
            walk.harness.simulator.device = .wifi
            let network = SocketCellularNetwork()
            network.isDown = isDown
            let latchkey = try walk.harness.client()
            let without = try await latchkey.signInByNumber(
                to: ProviderWalk.appURI, at: Self.northwind, over: network)
            #expect(reason(without) == (isDown ? .cellularUnavailable : .notOnMobileNetwork))
            #expect(try await latchkey.isSignedIn() == false)
            let simulator = walk.harness.simulator
            let outcome = try await latchkey.signInByNumber(
                to: ProviderWalk.appURI, at: Self.northwind, over: network,
                operatorToken: { simulator.makeOperatorToken(at: "northwind", user: "ravi") })
            #expect(evidence(outcome) == .sim)
            #expect(try await latchkey.me().profile[.phoneNumber] == "+12025550187")
            let refused = try await latchkey.signInByNumber(
                to: ProviderWalk.appURI, at: Self.northwind, over: network, operatorToken: { "no-such-token" })
            #expect(reason(refused) != nil && reason(refused) != .notOnMobileNetwork)
        }
    }

    @Test("A changed SIM and an unknown operator are another way at once, without an operator token")
    func otherWays() async throws {
        var policy = SIMSwapPolicy()
        (policy.maximumAge, policy.ifSwapped) = (72, .refuse)
        try await ProviderWalk.withOperators(simSwap: policy) { walk in
            let time = WallClock.system.now().advanced(bySeconds: -3600)
            walk.harness.simulator.setSIMChange(at: time, of: "jane", at: "northwind")
            let latchkey = try walk.harness.client()
            for (code, mccmnc, connections) in [
                (.simSwapped, "310010", 2), (.operatorUnknown, "99999", 0),
            ] as [(LatchkeyError.Code, String, Int)] {
                let network = SocketCellularNetwork()
                let outcome = try await latchkey.signInByNumber(
                    to: ProviderWalk.appURI, at: .init(mccmnc: mccmnc), over: network,
                    operatorToken: {
                        Issue.record("the SIM was asked")
                        return nil
                    })
                #expect(reason(outcome) == code)
                #expect(network.endpoints.count == connections)
            }
        }
    }

    @Test("A fault of the operator is another way, for a sign-in and for a verification")
    func operatorFault() async throws {
        try await ProviderWalk.withOperators { walk in
            let (simulator, network) = (walk.harness.simulator, SocketCellularNetwork())
            func token() throws -> String {
                try #require(simulator.makeOperatorToken(at: "northwind", user: "jane"))
            }
            let latchkey = try walk.harness.client()
            simulator.setFaults([.authorizationServerError], for: "northwind")
            let outcome = try await latchkey.signInByNumber(
                to: ProviderWalk.appURI, at: Self.northwind, over: network,
                operatorToken: {
                    Issue.record("the SIM was asked")
                    return nil
                })
            #expect(reason(outcome) == "carrier_error")
            simulator.setFaults([], for: "northwind")
            _ = try await latchkey.signIn(withOperatorToken: try token(), at: Self.northwind)
            simulator.setFaults([.authorizationServerError], for: "northwind")
            let verification = try await latchkey.verifyPhoneNumber(
                to: ProviderWalk.appURI, at: Self.northwind, over: network)
            #expect(verification.status == .failed && verification.error == "carrier_error")
        }
    }

    @Test("A user adds the number of the device, and signs in with it")
    func linked() async throws {
        try await ProviderWalk.withOperators { walk in
            func token(at name: String = "northwind", of user: String = "jane") throws -> String {
                try #require(walk.harness.simulator.makeOperatorToken(at: name, user: user))
            }
            let latchkey = try walk.harness.client()
            let harbor = try token(at: "harbor", of: "mira")
            _ = try await latchkey.signIn(withOperatorToken: harbor, at: .init(name: "harbor"))
            let user = try await latchkey.me()
            let identity = try await latchkey.linkNumber(operatorToken: try token(), at: Self.northwind)
            #expect(identity.issuer.hasSuffix("/operators/northwind"))
            #expect(try await latchkey.identities().contains(identity))
            let other = try walk.harness.client()
            _ = try await other.signIn(withOperatorToken: try token(), at: Self.northwind)
            #expect(try await other.me().id == user.id)
        }
    }

    @Test("Registration is thrown, and so is what no other way would change")
    func thrown() async throws {
        try await ProviderWalk.withOperators { walk in
            let latchkey = try walk.harness.client()
            let foreign = try await failure { () async throws(LatchkeyError) in
                try await latchkey.signInByNumber(
                    to: "com.other.app:/cb", at: Self.northwind, over: SocketCellularNetwork())
            }
            #expect(foreign.code == "invalid_request")
            let network = LossyNetwork()
            network.lose(9, from: "/auth/number/start")
            let offline = try walk.harness.client(network)
            let lost = try await failure { () async throws(LatchkeyError) in
                try await offline.signInByNumber(
                    to: ProviderWalk.appURI, at: Self.northwind, over: SocketCellularNetwork())
            }
            #expect(lost.code == .networkFailure)
        }
    }

    @Test("A browser session signs in by number, too")
    func browser() async throws {
        try await ProviderWalk.withOperators { walk in
            let latchkey = try walk.harness.client()
            let signIn = latchkey.startByNumber(to: ProviderWalk.appURI, at: Self.northwind)
            let browser = Browser()
            let asked = try await browser.get(signIn.url.absoluteString)
            let end = try await browser.get(try await browser.get(asked.location).location)
            let session = try await latchkey.finish(signIn, callback: try #require(URL(string: end.location)))
            #expect(session.isNewUser)
        }
    }

    @Test("A number is verified by an operator token; a lost response is not sent again, because a token works once")
    func verification() async throws {
        try await ProviderWalk.withOperators { walk in
            func token() throws -> String {
                try #require(walk.harness.simulator.makeOperatorToken(at: "northwind", user: "jane"))
            }
            let latchkey = try walk.harness.client()
            _ = try await latchkey.signIn(withOperatorToken: try token(), at: Self.northwind)
            let verified = try await latchkey.verifyPhoneNumber(operatorToken: try token(), at: Self.northwind)
            #expect(verified.status == .verified && verified.phoneNumber == "+12025550123")
            #expect(verified.operatorName == "northwind" && verified.error == nil)
            #expect(abs(try #require(verified.checkedAt).timeIntervalSinceNow) < 300)
            let other = try await latchkey.verifyPhoneNumber(
                "+12025550199", operatorToken: try token(), at: Self.northwind)
            #expect(other.status == .mismatch)
            #expect(try await latchkey.phoneVerification(other.id) == other)
            #expect(!"\(other)".contains("2025550199") && !String(reflecting: other).contains("2025550199"))

            let network = LossyNetwork()
            network.lose(1, from: "/auth/number/sign-in")
            let unlucky = try walk.harness.client(network)
            let spent = try token()
            let lost = try await failure { () async throws(LatchkeyError) in
                try await unlucky.signIn(withOperatorToken: spent, at: Self.northwind)
            }
            #expect(lost.code == .networkFailure && network.sent(to: "/auth/number/sign-in").count == 1)
        }
    }
}
