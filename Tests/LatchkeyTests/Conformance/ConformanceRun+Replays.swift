import Capsules
import Foundation
import LatchkeyService
import Primitives
import SignIn
import StorageModel
import Synchronization
import Testing

extension ConformanceRun {
    /// Replays a capsule: if a check of a token failed, the same one must fail; otherwise nothing is replayed.
    func expectReplay(of capsule: CapsuleRecord) throws {
        let replay = try CapsuleReplay(parsing: Array(capsule.json.utf8))
        let check = replay.content["failure"]?.object?["check"]?.string
        // These look at more than a token.
        let isOfToken = check.map { !["encryption", "userinfo_subject", "same_user"].contains($0) } ?? false
        do throws(CapsuleReplay.ReplayError) {
            let report = try ReplayReport(of: replay, with: harness.configuration)
            #expect(report.isSame && report.failsNow == check, "\(row.id): \(report.text)\n\(capsule.json)")
            harness.replays.withLock { $0[report.isTakenOver ? "taken over" : "computed", default: 0] += 1 }
        } catch {
            #expect(!isOfToken && error.code == .notReplayable, "\(row.id): \(error)\n\(capsule.json)")
        }
        try writeExample(capsule)
    }

    /// The cases whose capsules are examples (``ExampleCapsules``), with the names of the files.
    private static let examples = [
        "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss": "logout_issuer",
        "notification-id-token:wrong-nonce": "notification_nonce",
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
