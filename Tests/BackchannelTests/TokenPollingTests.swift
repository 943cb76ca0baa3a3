import OpenIDConnect
import Primitives
import StorageModel
import Testing

@testable import Backchannel

/// When a provider is polled again.
@Suite struct TokenPollingTests {
    @Test(
        "A stored interval that no provider can have sent leads to a wait between none and the longest",
        arguments: [.min, -1, .max] as [Int64], [.pending, .slowDown, .failed] as [TokenPolling.Ending])
    func interval(stored: Int64, ending: TokenPolling.Ending) {
        let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
        var polling = TokenPolling(mode: .poll, interval: stored, nextAt: now)
        polling.begin(at: now, seconds: 10)
        polling.end(ending, begunAs: polling, at: now)
        #expect((1...3_601).contains(polling.nextAt.seconds(since: now)), "\(polling.nextAt.seconds(since: now))")
    }
}
