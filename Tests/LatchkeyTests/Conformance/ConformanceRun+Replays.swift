import LatchkeyService
import Primitives
import SignIn
import StorageModel
import Synchronization
import Testing

extension ConformanceRun {
    /// Replays a capsule: it must fail as the sign-in did. A capsule that cannot be replayed must say so.
    func expectReplay(of capsule: CapsuleRecord) async throws {
        let bytes = Array(capsule.json.utf8)
        let json = try #require(try JSONValue(parsing: bytes).object)
        let request = try #require(json["request"]?.object)
        do throws(CapsuleReplay.Refusal) {
            let report = try await ReplayReport(of: bytes, with: harness.configuration)
            #expect(report.isSame, "\(row.id): \(report.text)\n\(capsule.json)")
            if report.isTakenOver {
                #expect(Self.takenOver.contains(row.id), "\(row.id): \(report.text)\n\(capsule.json)")
            }
            harness.replays.withLock { replays in
                if report.isTakenOver { replays.takenOver += 1 } else { replays.computed += 1 }
            }
        } catch {
            harness.replays.withLock { $0.refused += 1 }
            #expect(error.code == .notReplayable, "\(row.id): \(error)\n\(capsule.json)")
            let isDecidedElsewhere = request["code"] == nil || json["failure"]?.object?["step"] == "store"
            #expect(isDecidedElsewhere, "\(row.id): \(error)\n\(capsule.json)")
        }
    }

    /// The cases in which the request that failed is in the capsule of another sign-in, or was not sent.
    private static let takenOver: Set = [
        "sec-41 kid-flood:jwks-500", "sec-41 kid-flood:jwks-empty", "token-reusable-code:transaction",
    ]
}
