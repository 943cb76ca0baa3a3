import OutboundHTTP
import Primitives

/// The bytes after the first one as what a connection receives for a request. The first one says whether the request
/// was CONNECT, how large the body may be, and in pieces of how many bytes the rest arrives.
enum ResponseTarget {
    private static let bodyLimits = [0, 16, 1024, 65536]

    private struct Reading {
        var parser: ResponseParser
        var fault: ResponseError?
        /// How many of the bytes belong to the response.
        var used = 0
    }

    static func read(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let limit = bodyLimits[Int(first & 3)]
        let response = Array(bytes.dropFirst())
        let parser = ResponseParser(bodyBytes: limit, isOfConnect: first & 4 != 0)
        let whole = reading(response, with: parser, inPiecesOf: max(1, response.count))
        let cut = reading(response, with: parser, inPiecesOf: Int(first >> 3) + 1)
        compare(whole, cut)
        check(whole.parser, limit: limit)
        check(cut.parser, limit: limit)
    }

    private static func reading(
        _ bytes: [UInt8], with parser: ResponseParser, inPiecesOf size: Int
    ) -> Reading {
        var reading = Reading(parser: parser)
        do throws(ResponseError) {
            var start = 0
            while start < bytes.count {
                let piece = Array(bytes[start..<min(bytes.count, start + size)])
                let used = try reading.parser.receive(piece.span)
                demand(used == piece.count || reading.parser.isComplete, "only a complete response leaves bytes")
                reading.used += used
                start += piece.count
            }
            try reading.parser.inputEnded()
        } catch {
            reading.fault = error
        }
        return reading
    }

    /// Where two things are wrong, a limit may be found first in one of them.
    private static func compare(_ whole: Reading, _ cut: Reading) {
        demand((whole.fault == nil) == (cut.fault == nil), "a response is taken however it is cut")
        guard let (one, other) = whole.fault.flatMap({ one in cut.fault.map { (one, $0) } }) else {
            demand(whole.used == cut.used, "a response ends at the same byte however it is cut")
            demand(whole.parser.head == cut.parser.head, "a head is the same however it is cut")
            demand(whole.parser.body == cut.parser.body, "a body is the same however it is cut")
            return
        }
        demand(
            one == other || one.code == .tooLarge || other.code == .tooLarge,
            "a response is refused for the same reason however it is cut")
    }

    private static func check(_ parser: ResponseParser, limit: Int) {
        demand(parser.body.count <= limit, "a body has its limit")
        demand(parser.isComplete || !parser.allowsReuse, "what is not complete is not used again")
        let response = parser.head.response
        demand(response.status == 0 || (100...999).contains(response.status), "a status has three digits")
        demand((parser.head.contentLength ?? 0) >= 0, "a length is not negative")
        let texts = [response.contentType, response.cacheControl, response.retryAfter, response.date]
        for text in texts.compactMap(\.self) {
            demand(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, "a field has no control characters")
            demand(text.utf8.count <= 3 * ResponseParser.maximumHeadBytes, "a field has its limit")
        }
        guard parser.isComplete else { return }
        var after = parser
        demand((try? after.receive([0x48].span)) == 0, "what follows a response is not of it")
    }
}
