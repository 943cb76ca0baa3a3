/// The header fields of an answer that are looked at, read line by line as libcurl delivers them.
///
/// ``OutboundResponse`` has no others, so the rest is counted and forgotten.
package struct ResponseHead: Sendable {
    /// All lines of all heads of one answer together, interim answers (1xx) and trailers included.
    package static let maximumBytes = 32 * 1024

    package private(set) var contentType: String?
    package private(set) var cacheControl: String?
    package private(set) var retryAfter: String?
    package private(set) var date: String?
    package private(set) var contentLength: Int?
    private var receivedBytes = 0
    /// Whether the empty line that ends a head has come: libcurl is content with a head that the connection's end cuts
    /// short.
    package private(set) var isComplete = false

    package init() {}

    /// Takes one line with its line end; false if the head has become too large.
    package mutating func receive(_ line: UnsafeRawBufferPointer) -> Bool {
        receivedBytes += line.count
        guard receivedBytes <= Self.maximumBytes else { return false }
        let text = Self.trimmed(line)
        if text.isEmpty {
            isComplete = true
        } else if isComplete {
            // After an interim answer comes another head; after the body come trailers, which count for nothing.
            if text.starts(with: "HTTP/".utf8) { startOver() }
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            receive(name: text[..<colon], value: Self.trimmed(UnsafeRawBufferPointer(rebasing: text[(colon + 1)...])))
        }
        return true
    }

    private mutating func startOver() {
        let received = receivedBytes
        self = ResponseHead()
        receivedBytes = received
    }

    private mutating func receive(name: Slice<UnsafeRawBufferPointer>, value: Slice<UnsafeRawBufferPointer>) {
        // The length alone tells most fields apart, so that few names are compared.
        switch name.count {
        case 4 where Self.matches(name, "date"): Self.setOnce(&date, value)
        case 11 where Self.matches(name, "retry-after"): Self.setOnce(&retryAfter, value)
        case 12 where Self.matches(name, "content-type"): Self.setOnce(&contentType, value)
        case 13 where Self.matches(name, "cache-control"): Self.join(&cacheControl, value)
        case 14 where Self.matches(name, "content-length"): contentLength = Int(String(decoding: value, as: UTF8.self))
        default: break
        }
    }

    private static func setOnce(_ field: inout String?, _ value: Slice<UnsafeRawBufferPointer>) {
        if field == nil { field = String(decoding: value, as: UTF8.self) }
    }

    /// Lines of one list-valued field are one list (RFC 9110 section 5.3).
    private static func join(_ field: inout String?, _ value: Slice<UnsafeRawBufferPointer>) {
        let text = String(decoding: value, as: UTF8.self)
        field = field.map { "\($0), \(text)" } ?? text
    }

    /// Compares without regard to case; `expected` is in lower case.
    private static func matches(_ name: Slice<UnsafeRawBufferPointer>, _ expected: StaticString) -> Bool {
        expected.withUTF8Buffer { expected in
            zip(name, expected).allSatisfy { $0 | 0x20 == $1 }
        }
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var text = bytes[...]
        while let last = text.last, last <= UInt8(ascii: " ") { text.removeLast() }
        while let first = text.first, first <= UInt8(ascii: " ") { text.removeFirst() }
        return text
    }
}
