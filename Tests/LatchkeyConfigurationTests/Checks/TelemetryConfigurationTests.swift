import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TelemetryExport
import Testing

@Suite("The configuration of the export of traces and metrics")
struct TelemetryConfigurationTests {
    @Test("Nothing is exported by default")
    func defaults() throws {
        let telemetry = try load().configuration[TelemetrySettings.self]
        #expect(telemetry.endpoint == nil && telemetry.headers.isEmpty)
        #expect(telemetry.serviceName == "latchkey" && telemetry.sampleRatio == 1)
        #expect(telemetry.metricsInterval == .seconds(60))
    }

    @Test("Each setting is read from the file and from the environment")
    func read() throws {
        let text = """
            telemetry:
              otlp_endpoint: https://otlp.example.com/base
              otlp_headers: [api-key=a%2Cb%25, "Authorization=Basic a=b"]
              service_name: login
              sample_ratio: 0.05
              metrics_interval: 5s
            """
        let environment =
            needed
            .with("LATCHKEY_TELEMETRY_OTLP_ENDPOINT", "https://otlp.example.com/base")
            .with("LATCHKEY_TELEMETRY_OTLP_HEADERS", "api-key=a%2Cb%25,Authorization=Basic%20a=b")
            .with("LATCHKEY_TELEMETRY_SERVICE_NAME", "login").with("LATCHKEY_TELEMETRY_SAMPLE_RATIO", "0.05")
            .with("LATCHKEY_TELEMETRY_METRICS_INTERVAL", "5s")
        for configuration in [
            try load(text).configuration, try load(environment: environment).configuration,
        ] {
            let telemetry = configuration[TelemetrySettings.self]
            #expect(telemetry.endpoint?.text == "https://otlp.example.com/base")
            #expect(telemetry.headers.map(\.name) == ["api-key", "Authorization"])
            #expect(telemetry.headers.map(\.value.exposed) == ["a,b%", "Basic a=b"])
            #expect(telemetry.serviceName == "login" && telemetry.sampleRatio == 0.05)
            #expect(telemetry.metricsInterval == .seconds(5))
        }
    }

    @Test(
        "Plain http is for receivers on this machine",
        arguments: [
            ("http://127.0.0.1:4318", true), ("http://localhost:4318", true), ("http://[::1]:4318/", true),
            ("https://10.0.0.7:4318", true), ("http://10.0.0.7:4318", false), ("http://collector:4318", false),
            ("https://user@otlp.example.com", false), ("https://otlp.example.com?a=b", false),
            ("https://otlp.example.com/v1/traces", false), ("http://127.0.0.1:4318/v1/metrics/", false),
            ("otlp.example.com:4318", false), ("grpc://127.0.0.1:4317", false),
        ])
    func endpoint(url: String, isGood: Bool) {
        let found = problems("telemetry: {otlp_endpoint: '\(url)'}")
        #expect(found.isEmpty == isGood, "\(found)")
        #expect(found.allSatisfy { $0.contains("give one such as http://127.0.0.1:4318") })
    }

    @Test("Plain http to another machine is a setting of its own, with a warning")
    func plainHTTP() throws {
        for (url, isExposed) in [("http://collector:4318", true), ("http://localhost:4318", false)] {
            let loaded = try load("telemetry: {otlp_endpoint: '\(url)', allow_plain_http: true}")
            #expect(loaded.configuration[TelemetrySettings.self].endpoint?.text == url)
            #expect(loaded.warnings.contains { $0.key == "telemetry.otlp_endpoint" } == isExposed)
        }
        let refused = problems("telemetry: {otlp_endpoint: 'http://collector:4318'}")
        #expect(refused.first?.contains("or set telemetry.allow_plain_http") == true)
    }

    @Test(
        "A header is name=value, and none of those that the request has itself",
        arguments: [
            "api-key", "=value", "api key=value", "api-key=", "api-key=%", "api-key=%0d%0aHost: a", "api-key=%00",
            "api-key= value", "api-key=é", "Host=a", "content-length=1", "Content-Type=text/plain",
            "transfer-encoding=chunked", "connection=close",
        ])
    func header(text: String) {
        #expect(
            problems("telemetry: {otlp_headers: [\"\(text)\"]}") == [
                "telemetry.otlp_headers[0]: is not a header field; write name=value, with commas, spaces and percent "
                    + "signs of the value percent-encoded [test.yaml line 1]"
            ])
    }

    @Test(
        "A ratio is a number from 0 to 1, shown as it is written",
        arguments: [
            ("0", "0"), ("1", "1"), ("1.0", "1"), ("0.5", "0.5"), ("0.050", "0.05"), ("0.000001", "0.000001"),
            ("0.999999", "0.999999"), ("1.1", nil), ("-1", nil), ("1e-3", nil), ("0.0000001", nil), ("half", nil),
            ("0x1", nil), ("nan", nil), (".", nil), ("''", nil),
        ] as [(String, String?)])
    func ratio(text: String, shown: String?) throws {
        guard let shown else {
            #expect(problems("telemetry: {sample_ratio: \(text)}").count == 1)
            return
        }
        let configuration = try load("telemetry: {sample_ratio: \(text)}").configuration
        let values = ConfigurationReference.values(of: configuration)
        #expect(values.first { $0.key == "telemetry.sample_ratio" }?.value == shown)
    }

    @Test("A file with headers that every user can read is a warning")
    func readable() throws {
        let environment = needed.with("LATCHKEY_TELEMETRY_OTLP_HEADERS", nil)
        let loaded = try load(
            "telemetry: {otlp_headers: api-key=secret}", environment: environment, readableByAll: true)
        #expect(loaded.warnings.contains { $0.key == "telemetry.otlp_headers" })
    }
}
