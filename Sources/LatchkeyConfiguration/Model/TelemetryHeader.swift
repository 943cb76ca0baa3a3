internal import HTTPCore
public import Primitives

/// A header field of the requests to the telemetry receiver, such as its API key.
public struct TelemetryHeader: Sendable, Hashable {
    /// The name of the field.
    public let name: String
    /// Its value.
    public let value: Secret

    /// Fields that belong to the request itself.
    private static let reserved: Set<String> = [
        "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
    ]

    /// Reads `name=value`, with the value percent-encoded, as in `OTEL_EXPORTER_OTLP_HEADERS`. Nil if the name is no
    /// token (RFC 9110 section 5.6.2) or belongs to the request itself, or the value is empty or has other than visible
    /// ASCII characters and spaces between them.
    public init?(_ text: String) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let name = text[..<mark]
        guard (1...128).contains(name.utf8.count), name.utf8.allSatisfy(ASCII.isToken),
            !Self.reserved.contains(name.lowercased()),
            let value = PercentEncoding.decodePath(text.utf8[text.utf8.index(after: mark)...])
        else { return nil }
        guard (1...4096).contains(value.utf8.count), value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            value.utf8.first != UInt8(ascii: " "), value.utf8.last != UInt8(ascii: " ")
        else { return nil }
        self.name = String(name)
        self.value = Secret(value)
    }
}
