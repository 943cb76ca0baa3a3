import Primitives
import TestSupport
import Testing

@testable import LatchkeyAPI

/// The last request within a limit, and the first beyond it.
@Suite struct RateBucketTests {
    @Test("A bucket admits all of its quota at once, and no more", arguments: [1, 2, 5])
    func burst(count: Int) {
        let table = BucketTable(RequestLimits.Quota(count: count, seconds: 60), "some", groups: 1)
        for remaining in (0..<count).reversed() {
            #expect(table.take(7, at: .seconds(100)) == .admitted(remaining: remaining))
        }
        #expect(table.take(7, at: .seconds(100)) == .refused(retryAfter: 60 / count))
    }

    @Test("A caller at the limit stays known however many others come, also if its table is full")
    func flood() {
        let table = BucketTable(RequestLimits.Quota(count: 3, seconds: 3600), "some", groups: 256)
        let caller: UInt64 = 7
        for remaining in (0..<3).reversed() {
            #expect(table.take(caller, at: .seconds(100)) == .admitted(remaining: remaining))
        }
        var random = SeededGenerator(seed: 5)
        for _ in 0..<40_000 { _ = table.take(random.next(), at: .seconds(100)) }
        // Those of the caller's own group of slots: there are three times as many as the group has slots.
        for number in 1...24 { _ = table.take(caller + UInt64(number) << 40, at: .seconds(100)) }
        #expect(table.take(caller, at: .seconds(100)) == .refused(retryAfter: 1200))
    }
}

/// The requests in progress.
@Suite struct RequestsInProgressTests {
    @Test("Other requests go to the limit, and session checks beyond it, at most to twice the limit")
    func limit() {
        var limits = RequestLimits()
        limits.requestsInProgress = 2
        let guardOfRequests = RateGuard(limits, uptime: Uptime { .zero })
        #expect((0..<3).map { _ in guardOfRequests.enter(isSessionCheck: false) } == [true, true, false])
        #expect(guardOfRequests.enter(isSessionCheck: true))
        #expect(!guardOfRequests.enter(isSessionCheck: false))
        while guardOfRequests.load.inProgress < 5, guardOfRequests.enter(isSessionCheck: true) {}
        #expect(guardOfRequests.load.inProgress == 4)
        while guardOfRequests.load.inProgress > 1 { guardOfRequests.leave() }
        #expect(guardOfRequests.enter(isSessionCheck: false))
    }
}
