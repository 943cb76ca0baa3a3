import StorageModel
import Testing

@testable import SignIn

@Suite("Tokens that could not be stored")
struct TokenRefreshesTests {
    private func tokens(_ number: Int) -> SealedTokens {
        SealedTokens(keyID: "key", content: [UInt8(number % 256)], expiresAt: nil)
    }

    @Test("They are taken once, for their version of the row")
    func once() {
        let refreshes = TokenRefreshes()
        refreshes.keepUnsaved(tokens(1), 7, version: 3)
        #expect(refreshes.takeUnsaved(8, version: 3) == nil)
        #expect(refreshes.takeUnsaved(7, version: 3) == tokens(1))
        #expect(refreshes.takeUnsaved(7, version: 3) == nil)
        refreshes.keepUnsaved(tokens(1), 7, version: 3)
        #expect(refreshes.takeUnsaved(7, version: 4) == nil)
    }

    @Test("The oldest give way to new ones, so that removed rows block no others")
    func bounded() {
        let refreshes = TokenRefreshes()
        for number in 0...TokenRefreshes.capacity {
            refreshes.keepUnsaved(tokens(number), Int64(number), version: 1)
        }
        #expect(refreshes.takeUnsaved(0, version: 1) == nil)
        #expect(refreshes.takeUnsaved(1, version: 1) == tokens(1))
        let last = TokenRefreshes.capacity
        #expect(refreshes.takeUnsaved(Int64(last), version: 1) == tokens(last))
    }
}
