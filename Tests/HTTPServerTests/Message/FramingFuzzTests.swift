import HTTPServer
import TestSupport
import Testing

/// Mutations of valid requests from a seeded generator: the machine neither traps nor depends on how the bytes are
/// cut.
@Suite("Mutated requests", .serialized)
struct FramingFuzzTests {
    private static let seeds = [
        request("GET /a?b=c", "Accept: */*", "Connection: keep-alive"),
        request("POST /", "Content-Length: 5", "Expect: 100-continue", then: "hello"),
        request("POST /", "Transfer-Encoding: chunked", then: "5;a=\"b\"\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n"),
        "GET http://[::1]:80/%C3%A9?a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        request("OPTIONS *") + request("GET /b", "Connection: close"),
        "\r\n" + request("POST /", "Content-Length: 2", then: "ok\r\n") + request("HEAD /c"),
    ].map(wire)

    /// Bytes and words that matter to the grammar.
    private static let splinters = [
        "\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", ":", ";", ",", "\0", "\u{FF}", "0", "f", "-", "%", "#", "\"", "\\",
        "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Host: b\r\n", "0\r\n\r\n", "GET / HTTP/1.1\r\n",
    ].map(wire)

    private static var limits: ServerLimits {
        var limits = ServerLimits()
        limits.requestLineBytes = 60
        limits.headerBytes = 160
        limits.headerFields = 6
        limits.bodyBytes = 24
        return limits
    }

    private static func mutate(_ bytes: [UInt8], with random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2:
                let end = min(bytes.count, place + Int.random(in: 1...8, using: &random))
                bytes.removeSubrange(place..<end)
            case 3:
                let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
                bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
            default:
                let splinter = splinters[Int.random(in: 0..<splinters.count, using: &random)]
                bytes.insert(contentsOf: splinter, at: place)
            }
        }
        return bytes
    }

    @Test("Thousands of mutations have the same result whole, byte by byte and split at random", arguments: 1...4)
    func mutations(seed: Int) async {
        var random = SeededGenerator(seed: UInt64(seed))
        var refused = 0
        var handled = 0
        let count = AllRows.count(5_000, short: 1_500)
        for iteration in 0..<count {
            // Lets the tests that wait for sockets run.
            if iteration % 50 == 0 { await Task.yield() }
            let original = FramingFuzzTests.seeds[iteration % FramingFuzzTests.seeds.count]
            let bytes = FramingFuzzTests.mutate(original, with: &random)
            let ends = Bool.random(using: &random)
            let whole = outcome(bytes, cutAt: [], ends: ends)
            #expect(
                outcome(bytes, cutAt: Array(bytes.indices), ends: ends) == whole,
                "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            #expect(
                outcome(bytes, cutAt: cuts, ends: ends) == whole,
                "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            if whole.refusal != nil { refused += 1 }
            handled += whole.handled.count
        }
        // Both results must be common, or the mutations would test nothing.
        #expect(refused > count / 5)
        #expect(handled > count / 5)
    }

    private func outcome(_ bytes: [UInt8], cutAt cuts: [Int], ends: Bool) -> MachineDriver.Outcome {
        MachineDriver.outcome(of: bytes, cutAt: cuts, thenEnd: ends, limits: FramingFuzzTests.limits)
    }
}
