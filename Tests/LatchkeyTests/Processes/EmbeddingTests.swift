import Foundation
import Glibc
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import TestSupport
import Testing

@Suite("A program that embeds Latchkey")
struct EmbeddingTests {
    // In a process of its own: nothing else changes its memory.
    @Test("keeps its code in memory and its settings of the heaps")
    func memory() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            var configuration = Configuration()
            configuration.database.url = DatabaseURL(path: directory.path + "/latchkey.db")
            configuration.zenkey.discoveryURL = .init("https://discovery.invalid/", policy: .httpsOnly)
            configuration.log.level = .off
            configuration.http.port = 0
            let before = try residentCode()
            let service = try LatchkeyService(configuration: configuration, features: .none)
            _ = try service.start()
            let after = try residentCode()
            #expect(after > before / 2)
            // By default glibc no longer maps blocks of a size of which one was freed.
            free(malloc(1 << 20))
            let block = try #require(malloc(1 << 19))
            #expect(!isMapped(block))
            free(block)
            await service.shutdown(within: .zero)
        }
    }
}

/// How much of the code of this process is in memory, in KiB.
private func residentCode() throws -> Int {
    var sum = 0
    var isCode = false
    for line in try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8).split(separator: "\n") {
        let fields = line.split(separator: " ")
        if fields.count > 4, fields[0].contains("-") { isCode = fields[1].contains("x") }
        if isCode, fields[0] == "Rss:" { sum += Int(fields[1]) ?? 0 }
    }
    return sum
}

/// Whether glibc has mapped a block by itself: a bit of the size before it.
private func isMapped(_ block: UnsafeMutableRawPointer) -> Bool { (block - 8).load(as: UInt.self) & 2 != 0 }
