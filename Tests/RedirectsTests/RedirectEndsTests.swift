import HTTPServer
import HTTPTypes
import Primitives
import StorageModel
import Testing

@testable import Redirects

/// What browsers that come back a second time are told.
@Suite("Ends of redirects")
struct RedirectEndsTests {
    private let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    private func key(_ number: Int) -> TokenHash { TokenHash(sha256Of: "\(number)") }

    private func end(bytes: Int, expiresAt: Timestamp? = nil) -> RedirectEnds.End {
        RedirectEnds.End(
            response: Response(status: .ok, body: [UInt8](repeating: 97, count: bytes)), expiresAt: expiresAt)
    }

    @Test("The oldest give way when they take too much memory")
    func bytes() async throws {
        let ends = RedirectEnds(lifetime: 3600)
        for number in 0..<5 {
            let end = end(bytes: 1 << 20)
            _ = try await ends.end(for: key(number), at: now) { end }
        }
        #expect((0..<5).map { ends.kept(key($0), at: now) != nil } == [false, false, true, true, true])
    }

    @Test("One is kept for its time, a failure to tell the end is not, and each is told once")
    func lifetime() async throws {
        let ends = RedirectEnds(lifetime: 60)
        await #expect(throws: StorageError.self) {
            try await ends.end(for: key(1), at: now) { throw StorageError(.unavailable, reason: "scripted") }
        }
        for (number, expiresAt) in [(1, nil), (2, now.advanced(bySeconds: 30))] {
            for bytes in [1, 2] {
                let ended = end(bytes: bytes, expiresAt: expiresAt)
                #expect(try await ends.end(for: key(number), at: now) { ended }.response.body.count == 1)
            }
            #expect(ends.kept(key(number), at: now.advanced(bySeconds: 29)) != nil)
            #expect((ends.kept(key(number), at: now.advanced(bySeconds: 30)) != nil) == (expiresAt == nil))
            #expect(ends.kept(key(number), at: now.advanced(bySeconds: 61)) == nil)
        }
    }
}
