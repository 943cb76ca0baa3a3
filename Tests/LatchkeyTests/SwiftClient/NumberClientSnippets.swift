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
            @Sendable func operatorToken() async -> String? { simulator.makeOperatorToken(at: "northwind") }
            func askForCode(_ reason: LatchkeyError.Code) { Issue.record("\(reason.rawValue)") }
            // snippet: swift-number
            let outcome = try await latchkey.signInByNumber(
                to: "com.example.app:/signed-in", at: MobileOperator(mccmnc: "310010"),
                over: cellular,  // CellularInterface() on iOS
                operatorToken: operatorToken)
            switch outcome {
            case .signedIn: break  // latchkey.me() has the number, verified
            case .otherWay(let error): askForCode(error.code)  // the app's present way, such as a code by SMS
            }
            // end
            #expect(try await latchkey.me().profile[.phoneNumber] == "+12025550123")
            // snippet: swift-verify
            let verification = try await latchkey.verifyPhoneNumber(
                "+12025550123", to: "com.example.app:/signed-in", at: MobileOperator(mccmnc: "310010"),
                over: cellular, operatorToken: operatorToken)
            let isVerified = verification.status == .verified
            // end
            #expect(isVerified)
        }
    }
}
