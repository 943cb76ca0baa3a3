import Testing

@testable import LatchkeyAPI

/// The last request within a limit, and the first beyond it.
@Suite struct RateBucketTests {
    @Test("A bucket admits all of its quota at once, and no more", arguments: [1, 2, 5])
    func burst(count: Int) {
        let table = BucketTable(RequestLimits.Quota(count: count, seconds: 60), groups: 1)
        for remaining in (0..<count).reversed() {
            #expect(table.take(7, at: .seconds(100)) == .admitted(remaining: remaining))
        }
        #expect(table.take(7, at: .seconds(100)) == .refused(retryAfter: 60 / count))
    }
}
