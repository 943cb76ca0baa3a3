import CarrierSimulator
import Foundation
import LatchkeyClient
import TestSupport
import Testing

/// The Swift code of docs/verified-numbers.md, which is copied from here.
@Suite(.serialized) struct NumberClientSnippets {
    @Test("A user signs in by number, and verifies one, as docs/verified-numbers.md says", arguments: [false, true])
    func number(isOnWiFi: Bool) async throws {
        try await ProviderWalk.withOperators { walk in
            if isOnWiFi { walk.harness.simulator.device = .wifi }
            let latchkey = try walk.harness.client()
            let cellular = SocketCellularNetwork()
            let simulator = walk.harness.simulator
            func show(_ providers: [String]) { Issue.record("\(providers)") }
            let operatorToken: @Sendable (LatchkeyClient.MobileOperator) async throws -> String? = { _ in
                simulator.makeOperatorToken(at: "northwind")
            }
            // snippet: swift-number
            var phone = Phone(mccmnc: "310010", cellular: cellular)  // nil and CellularInterface() on iOS
            phone.operatorToken = operatorToken  // if the app can get one
            let outcome = try await latchkey.signInByNumber(on: phone, to: "com.example.app:/signed-in")
            switch outcome {
            case .signedIn: break  // latchkey.me() has the number, verified
            case .otherWay(_, let providers): show(providers)  // the app's present way, or one of these
            }
            // end
            #expect(try await latchkey.me().profile[.phoneNumber] == "+12025550123")
            // snippet: swift-verify
            let verification = try await latchkey.verifyPhoneNumber(
                "+12025550123", on: phone, to: "com.example.app:/signed-in")
            let isVerified = verification.status == .verified
            // end
            #expect(isVerified)
        }
    }
}
