import Primitives
import StorageModel
import Testing

@testable import ProviderResources

@Suite("Tokens that could not be stored")
struct TokenRefreshesTests {
    private func tokens(_ number: Int) -> SealedTokens {
        SealedTokens(keyID: "key", content: [UInt8(number % 256)], expiresAt: nil)
    }

    @Test("They are stored once, for their version of the row")
    func once() async throws {
        let store = try TestStore().store
        // The tokens are not stored by themselves during the test.
        let refreshes = TokenRefreshes(random: .system, pause: .seconds(3_600))
        refreshes.keepUnsaved(tokens(1), 7, version: 3, in: store)
        #expect(refreshes.holdsUnsaved(7, version: 3))
        #expect(!refreshes.holdsUnsaved(7, version: 4) && !refreshes.holdsUnsaved(8, version: 3))
        #expect(try await !refreshes.saveUnsaved(7, version: 4, in: store))
        #expect(refreshes.holdsUnsaved(7, version: 3))
        #expect(try await refreshes.saveUnsaved(7, version: 3, in: store))
        #expect(try await !refreshes.saveUnsaved(7, version: 3, in: store))
    }

    @Test("The oldest give way to new ones, so that removed rows block no others")
    func bounded() async throws {
        let test = try TestStore()
        test.script.fail(with: StorageError(.unavailable, reason: "scripted"))
        let refreshes = TokenRefreshes(random: .system)
        for number in 0...TokenRefreshes.capacity {
            refreshes.keepUnsaved(tokens(number), Int64(number), version: 1, in: test.store)
        }
        #expect(!refreshes.holdsUnsaved(0, version: 1))
        #expect(refreshes.holdsUnsaved(1, version: 1))
        #expect(refreshes.holdsUnsaved(Int64(TokenRefreshes.capacity), version: 1))
        test.script.fail(with: nil)
    }
}
