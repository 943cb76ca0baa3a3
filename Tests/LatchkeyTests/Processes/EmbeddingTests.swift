import Foundation
import Glibc
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@Suite("A program that embeds Latchkey")
struct EmbeddingTests {
    // In a process of its own: nothing else changes its memory.
    @Test("keeps its settings of the heaps")
    func memory() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            var configuration = Configuration()
            configuration.database.url = DatabaseURL(path: directory.path + "/latchkey.db")
            configuration.zenkey.discoveryURL = .init("https://discovery.invalid/", policy: .httpsOnly)
            configuration.log.level = .off
            configuration.http.port = 0
            let service = try LatchkeyService(configuration: configuration, features: .none)
            _ = try service.start()
            // By default glibc no longer maps blocks of a size of which one was freed.
            free(malloc(1 << 20))
            let block = try #require(malloc(1 << 19))
            #expect(!isMapped(block))
            free(block)
            await service.shutdown(within: .zero)
        }
    }

    @Test("is refused a configuration that needs a feature it does not have")
    func unmetDemand() throws {
        var configuration = Configuration()
        configuration.zenkey.discoveryURL = .init("https://discovery.invalid/", policy: .httpsOnly)
        configuration.registration.mode = .required
        let error = #expect(throws: LatchkeyStartError.self) {
            try LatchkeyService(configuration: configuration, features: .none)
        }
        #expect(error?.code == .configuration)
        #expect(error?.description.hasPrefix("registration: needs the feature Registration, ") == true)
    }
}

/// Whether glibc has mapped a block by itself: a bit of the size before it.
private func isMapped(_ block: UnsafeMutableRawPointer) -> Bool { (block - 8).load(as: UInt.self) & 2 != 0 }
