import Foundation
import LatchkeyService
import Primitives
import SignIn
import StorageModel
import Synchronization
import Testing

extension ConformanceRun {
    /// Replays a capsule: it must fail as the operation did.
    func expectReplay(of capsule: CapsuleRecord) async throws {
        let bytes = Array(capsule.json.utf8)
        do throws(CapsuleReplay.Refusal) {
            let report = try await ReplayReport(of: bytes, with: harness.configuration)
            #expect(report.isSame, "\(row.id): \(report.text)\n\(capsule.json)")
            if report.isTakenOver {
                let isExpected = Self.takenOver.contains(row.id) || Self.mayBeTakenOver.contains(row.id)
                #expect(isExpected, "\(row.id): \(report.text)\n\(capsule.json)")
            }
            harness.replays.withLock { replays in
                if report.isTakenOver { replays.takenOver.insert(row.id) } else { replays.computed += 1 }
            }
        } catch {
            Issue.record("\(row.id): \(error)\n\(capsule.json)")
        }
        try writeExample(capsule)
    }

    /// The cases whose failure no step decides that a replay can run: the database did, or what no capsule has. Every
    /// step before it is run again, and passes.
    static let takenOver: Set = [
        "server-initiated-500", "server-initiated-slow", "server-initiated-not-json",
        "server-initiated-redirect", "server-initiated-missing-id", "server-initiated-user-unsupported",
        "fapi2-ensure-authorization-response-with-invalid-state-fails",
        "notification-missing-id-token",
        "notification-wrong-token",
        "port-token",
        "port-token-among-junk",
        "port-token-not-in-array",
        "sec-23 replay:callback",
        "sec-23 replay:state-with-another-code",
        "sec-43 state-csrf:wrong",
        "token-reusable-code:transaction",
        "x-authz-error:doubled-code",
        "x-authz-error:doubled-state",
        "x-user:transaction-of-another",
    ]

    /// The cases in which the request that failed may be in the capsule of another sign-in, or was not sent.
    private static let mayBeTakenOver: Set = ["sec-41 kid-flood:jwks-500", "sec-41 kid-flood:jwks-empty"]

    /// The cases whose capsules are examples (``ExampleCapsules``), with the names of the files.
    private static let examples = [
        "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss": "logout_issuer",
        "par-expires-in-negative": "par_expiry", "sec-26 mix-up:callback-iss-slash": "callback_issuer",
        "sec-43 state-csrf:wrong": "callback_state", "notification-id-token:wrong-nonce": "notification_nonce",
    ]

    private func writeExample(_ capsule: CapsuleRecord) throws {
        guard ExampleCapsules.areToBeWritten, let name = Self.examples[row.id],
            let port = harness.proxy.url.split(separator: ":").last
        else { return }
        let text = capsule.json.replacing(":\(port)/", with: ":8081/")
            .replacing(capsule.correlationID, with: "example-\(name)")
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: ExampleCapsules.folder + "/\(name).json"))
    }
}
