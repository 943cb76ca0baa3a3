import CarrierSimulator
import Foundation
import LatchkeyClient
import LatchkeyConfiguration
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-in and verification by phone number with the Swift client, at the simulated operators.
@Suite("The Swift client by phone number", .serialized)
struct NumberClientTests {
    private static let northwind = LatchkeyClient.MobileOperator(name: "northwind")

    /// A phone on its operator's network.
    private static var phone: Phone { Phone(mccmnc: "310010", cellular: SocketCellularNetwork()) }

    @Test("A phone on its operator's network is signed in without a page, and the operator gets nothing of the app")
    func silent() async throws {
        try await ProviderWalk.withOperators { walk in
            let network = SocketCellularNetwork()
            let latchkey = try walk.harness.client()
            let outcome = try await latchkey.signInByNumber(
                on: Phone(mccmnc: "310012", cellular: network), to: ProviderWalk.appURI)
            #expect(outcome.method == .redirect)
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

    @Test("A SIM that gives an operator token signs in over any network, and the cellular network is not used")
    func bySIM() async throws {
        try await ProviderWalk.withOperators { walk in
            let (simulator, network) = (walk.harness.simulator, SocketCellularNetwork())
            simulator.device = .wifi
            var phone = Phone(mccmnc: "310010", cellular: network)
            phone.operatorToken = { mobileOperator in
                mobileOperator.name.flatMap { simulator.makeOperatorToken(at: $0, user: "ravi") }
            }
            let latchkey = try walk.harness.client()
            let outcome = try await latchkey.signInByNumber(on: phone, to: ProviderWalk.appURI)
            #expect(outcome.method == .operatorToken)
            #expect(try await latchkey.me().profile[.phoneNumber] == "+12025550187")
            #expect(network.endpoints.isEmpty)
        }
    }

    @Test("A phone that refuses, and an operator that does, lead to the next way")
    func next() async throws {
        try await ProviderWalk.withOperators { walk in
            let network = SocketCellularNetwork()
            let latchkey = try walk.harness.client()
            for refusal in [{ _ in nil }, { _ in throw URLError(.unknown) }, { _ in "no-such-token" }]
                as [@Sendable (LatchkeyClient.MobileOperator) async throws -> String?]
            {
                var phone = Phone(mccmnc: "310010", cellular: network)
                phone.operatorToken = refusal
                let outcome = try await latchkey.signInByNumber(on: phone, to: ProviderWalk.appURI)
                #expect(outcome.method == .redirect)
            }
        }
    }

    @Test("A phone without a way has the other providers, and the last refusal as the reason")
    func noWay() async throws {
        try await ProviderWalk.withOperators { walk in
            let simulator = walk.harness.simulator
            simulator.device = .wifi
            let latchkey = try walk.harness.client()
            let (onWiFi, down) = (SocketCellularNetwork(), SocketCellularNetwork())
            down.isDown = true
            var refused = Phone(mccmnc: "310010")
            refused.operatorToken = { _ in "no-such-token" }
            let phones: [(Phone, LatchkeyError.Code)] = [
                (Phone(mccmnc: "310010"), .phoneRefused), (Phone(mccmnc: "99999", cellular: onWiFi), .operatorUnknown),
                (Phone(mccmnc: "--", cellular: onWiFi), .operatorUnknown),
                (Phone(mccmnc: "310010", cellular: onWiFi), .notOnMobileNetwork),
                (Phone(mccmnc: "310010", cellular: down), .cellularUnavailable), (refused, .invalidGrant),
            ]
            for (phone, code) in phones {
                let outcome = try await latchkey.signInByNumber(on: phone, to: ProviderWalk.appURI)
                #expect(outcome.reason == code)
                guard case .otherWay(_, let providers) = outcome else { continue }
                #expect(providers.contains("zenkey") && !providers.contains("number"))
            }
            #expect(try await latchkey.isSignedIn() == false)
            simulator.setFaults([.authorizationServerError], for: "northwind")
            let fault = try await latchkey.signInByNumber(
                on: Phone(mccmnc: "310010", cellular: SocketCellularNetwork()), to: ProviderWalk.appURI)
            #expect(fault.reason == "carrier_error")
        }
    }

    @Test("A changed SIM leaves no way by number: the network is not used")
    func changedSIM() async throws {
        var policy = SIMSwapPolicy()
        (policy.maximumAge, policy.ifSwapped) = (72, .refuse)
        try await ProviderWalk.withOperators(simSwap: policy) { walk in
            let (simulator, network) = (walk.harness.simulator, SocketCellularNetwork())
            let time = WallClock.system.now().advanced(bySeconds: -3600)
            simulator.setSIMChange(at: time, of: "jane", at: "northwind")
            let latchkey = try walk.harness.client()
            var phone = Phone(mccmnc: "310010", cellular: network)
            phone.operatorToken = { _ in simulator.makeOperatorToken(at: "northwind", user: "jane") }
            let outcome = try await latchkey.signInByNumber(on: phone, to: ProviderWalk.appURI)
            #expect(outcome.reason == .simSwapped && network.endpoints.isEmpty)
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
                try await latchkey.signInByNumber(on: Self.phone, to: "com.other.app:/cb")
            }
            #expect(foreign.code == "invalid_request")
            let network = LossyNetwork()
            network.lose(9, from: "/auth/number/start")
            let offline = try walk.harness.client(network)
            let lost = try await failure { () async throws(LatchkeyError) in
                try await offline.signInByNumber(on: Self.phone, to: ProviderWalk.appURI)
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

extension NumberSignIn {
    /// How the number was proved; nil without a session.
    var method: NumberMethod.Kind? { if case .signedIn(_, let method) = self { method } else { nil } }

    /// Why the number is no way to sign in; nil for a session.
    var reason: LatchkeyError.Code? { if case .otherWay(let error, _) = self { error.code } else { nil } }
}
