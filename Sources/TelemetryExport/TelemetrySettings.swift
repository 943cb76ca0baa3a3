public import LatchkeyConfiguration
public import Primitives

/// `telemetry`: the export of traces and metrics with OpenTelemetry's protocol.
public struct TelemetrySettings: FeatureSettings, Hashable {
    /// The base URL of the receiver; nil exports nothing.
    public var endpoint: EndpointURL?
    /// Whether ``endpoint`` may be plain http to another machine.
    public var allowsPlainHTTP = false
    /// Header fields of the requests to the receiver.
    public var headers: [TelemetryHeader] = []
    /// `service.name`
    public var serviceName = "latchkey"
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
                + "metrics at /v1/metrics, as JSON; without it nothing is exported."),
        Setting(
            "telemetry.allow_plain_http", .flag(), \.allowsPlainHTTP,
            "Allows a receiver on another machine at plain http, such as a collector of the same cluster. Others on "
                + "its network can read the exports and the header fields."),
        Setting(
            "telemetry.otlp_headers", .list(of: .telemetryHeader, "a list of header fields"), \.headers,
            isSecret: true,
            "Header fields of the requests to the receiver, such as its key, each as name=value with the value "
                + "percent-encoded."),
        Setting(
            "telemetry.service_name", .shownName, \.serviceName,
            "The service.name of the exported traces and metrics."),
        Setting(
            "telemetry.sample_ratio", .ratio, \.sampleRatio,
            "The part of the traces that is exported; a request with a traceparent follows its sampled flag instead."),
        Setting(
            "telemetry.metrics_interval", .duration(1...3600), \.metricsInterval,
            "The time from one export of the metrics to the next."),
    ]

    /// Where plain http may be sent.
    var urlPolicy: EndpointURL.Policy { allowsPlainHTTP ? .allowHTTP : .allowLoopbackHTTP }

    /// Plain http that was not asked for.
    public func contradictions(in configuration: Configuration) -> [SettingNote] {
        guard let endpoint, !urlPolicy.allows(endpoint) else { return [] }
        return [
            (
                "telemetry.otlp_endpoint", "is plain http to another machine",
                "\(ValueType<EndpointURL>.receiverRemedy); or set telemetry.allow_plain_http in a private network"
            )
        ]
    }

    /// Plain http that was asked for.
    public func warnings(in configuration: Configuration) -> [SettingNote] {
        guard let endpoint, !EndpointURL.Policy.allowLoopbackHTTP.allows(endpoint) else { return [] }
        let warning = Configuration.warning(
            ofPlainHTTPTo: [endpoint.host], exposing: "the exports and telemetry.otlp_headers")
        return [("telemetry.otlp_endpoint", warning.reason, warning.remedy)]
    }
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
        guard (1...128).contains(name.utf8.count), name.utf8.allSatisfy(\.isToken),
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
    fileprivate static var receiverRemedy: String {
        "give one such as http://127.0.0.1:4318 or https://otlp.example.com"
    }

    /// The base URL of a telemetry receiver. Whether plain http may leave this machine is another setting.
    static var receiverURL: ValueType<EndpointURL> {
        .scalar("an https URL, or an http one", show: { $0.text }) {
            (text, _) throws(InvalidValueError) in
            guard let url = EndpointURL(text, policy: .allowHTTP) else {
                throw InvalidValueError("is not the URL of a receiver on https or http", receiverRemedy)
            }
            guard !text.utf8.contains(UInt8(ascii: "?")) else { throw InvalidValueError("has a query", receiverRemedy) }
            for signal in ["/v1/traces", "/v1/metrics"] where text.hasSuffix(signal) || text.hasSuffix(signal + "/") {
                throw InvalidValueError("ends with \(signal), which is added to it", receiverRemedy)
            }
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
