/// The header fields of a response that ``OutboundResponse`` has, read line by line as libcurl delivers them. The
/// others are only counted.
package struct ResponseHead: Sendable {
    /// The limit for all lines of one response together, interim responses (1xx) and trailers included.
    package static let maximumBytes = 32 * 1024

    package private(set) var contentType: String?
    package private(set) var cacheControl: String?
    package private(set) var retryAfter: String?
    package private(set) var date: String?
    package private(set) var contentLength: Int?
    private var receivedBytes = 0
    /// Whether the empty line that ends a head has come. libcurl also accepts a head that the end of the connection
    /// cuts short.
    package private(set) var isComplete = false

    package init() {}

    private init(receivedBytes: Int) { self.receivedBytes = receivedBytes }

    /// Reads one line with its line end; false if the head has become too large.
    package mutating func receive(_ line: UnsafeRawBufferPointer) -> Bool {
        receivedBytes += line.count
        guard receivedBytes <= Self.maximumBytes else { return false }
        let text = Self.trimmed(line)
        if text.isEmpty {
            isComplete = true
        } else if isComplete {
            // Another head follows an interim response. Trailers follow the body, and are ignored.
            if text.starts(with: "HTTP/".utf8) { self = ResponseHead(receivedBytes: receivedBytes) }
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            receive(name: text[..<colon], value: Self.trimmed(UnsafeRawBufferPointer(rebasing: text[(colon + 1)...])))
        }
        return true
    }

    private mutating func receive(name: Slice<UnsafeRawBufferPointer>, value: Slice<UnsafeRawBufferPointer>) {
        // The length excludes most names, so that few are compared.
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

    /// Compares case-insensitively; `expected` is in lower case.
    private static func matches(_ name: Slice<UnsafeRawBufferPointer>, _ expected: StaticString) -> Bool {
        expected.withUTF8Buffer { expected in zip(name, expected).allSatisfy { $0 | 0x20 == $1 } }
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var text = bytes[...]
        while let last = text.last, last <= UInt8(ascii: " ") { text.removeLast() }
        while let first = text.first, first <= UInt8(ascii: " ") { text.removeFirst() }
        return text
    }
}
