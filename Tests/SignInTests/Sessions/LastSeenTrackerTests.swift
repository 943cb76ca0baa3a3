import Primitives
import StorageModel
import Testing

@testable import SignIn

/// When it is recorded that a session was seen.
@Suite struct LastSeenTrackerTests {
    private static let start = Timestamp(secondsSinceEpoch: 1_700_000_000)

    private func session(_ id: String = "one") -> Session {
        Session(
            id: id, userID: UserID(1), clientID: "client-1", createdAt: Self.start,
            expiresAt: Self.start.advanced(bySeconds: 3600))
    }

    @Test("A session is recorded once in five minutes, and not in its first five")
    func precision() {
        let tracker = LastSeenTracker()
        for (seconds, recorded) in [
            (Int64(0), []), (299, []), (300, [300]), (301, []), (599, []), (600, [600]), (1200, [1200]),
        ] as [(Int64, [Int64])] {
            tracker.record(session(), at: Self.start.advanced(bySeconds: seconds))
            #expect(tracker.takeUnwritten().map { $0.time.seconds(since: Self.start) } == recorded, "\(seconds)")
        }
        #expect(tracker.time(of: "one") == Self.start.advanced(bySeconds: 1200))
    }

    @Test("No more sessions than the capacity wait to be stored")
    func capacity() {
        let tracker = LastSeenTracker(capacity: 2)
        let now = Self.start.advanced(bySeconds: 300)
        for id in ["one", "two", "three"] { tracker.record(session(id), at: now) }
        #expect(tracker.takeUnwritten().map(\.sessionID) == ["one", "two"])
        tracker.record(session("three"), at: now)
        #expect(tracker.takeUnwritten().map(\.sessionID) == ["three"])
    }
}
