import Foundation
import OutboundHTTP
import Primitives
import TestSupport
import Testing

struct ResourceTests {
    // In a process of its own: other tests open and close descriptors at the same time.
    @Test("Thousands of requests leave neither descriptors nor memory behind")
    func noGrowth() async {
        await #expect(processExitsWith: .success) {
            let peer = try RawHTTPPeer(recordsRequests: false) { connection in
                while let request = connection.readRequest() {
                    if request.startLine.contains("/close") { return }
                    connection.answer(body: request.body)
                }
            }
            // It stays open to the end. What a process opens on first use is open then, and no loop of it is ending.
            try await withClient { first in
                _ = try await first.send(.post(peer.url()))
                let before = try openDescriptors()
                try await withClient { client in
                    func send(_ count: Int) async throws {
                        for number in 0..<count {
                            let request = try OutboundRequest.post(peer.url("/\(number)"), body: "request \(number)")
                            #expect(try await client.send(request).status == 200)
                        }
                    }
                    try await send(1000)
                    let (descriptors, pages) = (try openDescriptors(), try residentPages())
                    try await send(2000)
                    // 256 pages in 2000 requests would be half a kilobyte for each.
                    #expect(try residentPages() - pages < 256)

                    for _ in 0..<50 {
                        _ = await client.failure(try .post(peer.url("/close")))
                        try await send(2)
                    }
                    while peer.openConnectionCount > 2 { await Task.yield() }
                    #expect(try openDescriptors() == descriptors)
                }
                // The client's loop closes its own descriptors after the last reference to it is gone. A sleep would
                // open a descriptor for its timer.
                let deadline = ContinuousClock.now + .seconds(30 * Patience.factor)
                while try openDescriptors() != before, ContinuousClock.now < deadline { await Task.yield() }
                #expect(try openDescriptors() == before)
            }
            peer.stop()
        }
    }
}

private func openDescriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
}

private func residentPages() throws -> Int {
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return try #require(fields.dropFirst().first.flatMap { Int($0) })
}
