internal import HTTPCore
public import LatchkeyConfiguration
public import Primitives

/// `telemetry`: the export of traces and metrics with OpenTelemetry's protocol.
public struct TelemetrySettings: FeatureSettings, Hashable {
    /// The base URL of the receiver; nil exports nothing.
    public var endpoint: EndpointURL?
    /// Header fields of the requests to the receiver.
    public var headers: [TelemetryHeader] = []
    /// `service.name`
    public var serviceName = "latchkey"
    /// `deployment.environment.name`; nil leaves it out.
    public var environment: String?
    /// The part of new traces that is recorded, from 0 to 1.
    public var sampleRatio = 1.0
    /// The time from one export of the metrics to the next.
    public var metricsInterval = Duration.seconds(60)

    /// The defaults.
    public init() {}

    /// The keys.
    public static let settings = [
        Setting(
            "telemetry.otlp_endpoint", .optional(.receiverURL), \TelemetrySettings.endpoint,
            "The base URL of an OpenTelemetry receiver, such as a collector, which gets traces at /v1/traces and "
                + "metrics at /v1/metrics, as JSON; without it nothing is exported. Plain http is for loopback "
                + "addresses only."),
        Setting(
            "telemetry.otlp_headers", .list(of: .telemetryHeader, "a list of header fields"), \.headers,
            isSecret: true,
            "Header fields of the requests to the receiver, such as its key, each as name=value with the value "
                + "percent-encoded."),
        Setting(
            "telemetry.service_name", .shownName, \.serviceName,
            "The service.name of the exported traces and metrics."),
        Setting(
            "telemetry.environment", .optional(.shownName), \.environment,
            "The deployment.environment.name of the exported traces and metrics, such as production."),
        Setting(
            "telemetry.sample_ratio", .ratio, \.sampleRatio,
            "The part of the traces that is exported; a request with a traceparent follows its sampled flag instead."),
        Setting(
            "telemetry.metrics_interval", .duration(1...3600), \.metricsInterval,
            "The time from one export of the metrics to the next."),
    ]
}

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
            let value = PercentEncoding.decodePath(text.utf8[text.utf8.index(after: mark)...]),
            (1...4096).contains(value.utf8.count), value.utf8.allSatisfy(\.isPrintableASCII),
            value.utf8.first != UInt8(ascii: " "), value.utf8.last != UInt8(ascii: " ")
        else { return nil }
        self.name = String(name)
        self.value = Secret(value)
    }
}

extension ValueType where Value == EndpointURL {
    /// The base URL of a telemetry receiver: https, or http to loopback, where a collector usually listens.
    static var receiverURL: ValueType<EndpointURL> {
        .scalar("an https URL, or an http URL on a loopback address", show: { $0.text }) {
            (text, _) throws(InvalidValueError) in
            let remedy = "give one such as http://127.0.0.1:4318 or https://otlp.example.com"
            guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else {
                throw InvalidValueError("is not the URL of a receiver on https, or on http on this machine", remedy)
            }
            guard !text.utf8.contains(UInt8(ascii: "?")) else { throw InvalidValueError("has a query", remedy) }
            return url
        }
    }
}

extension ValueType where Value == TelemetryHeader {
    static var telemetryHeader: ValueType<TelemetryHeader> {
        .scalar("a header field", show: { _ in "‹redacted›" }) { (text, _) throws(InvalidValueError) in
            guard let header = TelemetryHeader(text) else {
                throw InvalidValueError(
                    "is not a header field",
                    "write name=value, with commas, spaces and percent signs of the value percent-encoded")
            }
            return header
        }
    }
}
