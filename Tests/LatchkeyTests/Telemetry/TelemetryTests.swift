import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TelemetryExport
import TestSupport
import Testing

/// What a service exports to a real receiver, and what it does without one.
@Suite(.serialized) struct TelemetryTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private func configure(
        _ url: String, _ change: @escaping (inout TelemetrySettings) -> Void = { _ in }
    ) -> (inout Configuration) -> Void {
        { configuration in
            configuration[TelemetrySettings.self].endpoint = EndpointURL(url, policy: .allowLoopbackHTTP)
            configuration[TelemetrySettings.self].headers = ["x-receiver-key=top%20secret"].compactMap(
                TelemetryHeader.init)
            configuration[TelemetrySettings.self].serviceName = "login-test"
            change(&configuration[TelemetrySettings.self])
        }
    }

    /// Signs in and returns the app's fields.
    private func signIn(
        _ harness: SignInHarness, _ headers: [String] = [], expecting status: Int = 200
    ) async throws -> (fields: [String: String], answer: App.Answer) {
        let fields = try harness.authorizedResponse(scope: "openid email").merging(["scope": "openid email"]) { $1 }
        let answer = try await harness.app.send(
            "POST", "/auth/zenkey-signin", headers: headers + ["Content-Type: application/json"],
            body: App.json(fields))
        #expect(answer.status == status)
        return (fields, answer)
    }

    /// Runs `body` with a receiver, and stops it.
    private func withReceiver(_ body: (TelemetryReceiver) async throws -> Void) async throws {
        let receiver = try await TelemetryReceiver()
        defer { receiver.stop() }
        try await body(receiver)
    }

    @Test("A receiver decodes a span for each request, each step and each request to a carrier, in the caller's trace")
    func spans() async throws {
        try await withReceiver { receiver in
            try await SignInHarness.with(configure: configure(receiver.url)) { harness in
                _ = try await signIn(harness, ["traceparent: 00-\(Self.trace)-\(Self.span)-01"])
            }
            let exports = try receiver.exports
            #expect(exports.allSatisfy { $0.error == nil }, "\(exports.compactMap(\.error))")
            let traces = exports.filter { $0.path == "/v1/traces" }
            for export in traces {
                #expect(export.fields["content-type"] == "application/json")
                #expect(export.fields["x-receiver-key"] == "top secret")
                #expect(export.resource["service.name"] == "login-test")
                #expect(export.resource["service.version"]?.isEmpty == false)
                #expect(export.resource["service.instance.id"]?.count == 32)
            }
            let spans = traces.flatMap(\.spans).filter { $0.traceID == Self.trace }
            let server = try #require(spans.first { $0.kind == "SPAN_KIND_SERVER" })
            #expect(server.name == "POST /auth/zenkey-signin" && server.parentSpanID == Self.span && !server.isError)
            #expect(
                server.attributes == [
                    "http.request.method": "POST", "http.route": "/auth/zenkey-signin", "url.scheme": "http",
                    "server.address": "127.0.0.1", "http.response.status_code": "200",
                ])
            let others = spans.filter { $0.spanID != server.spanID }
            #expect(Set(spans.map(\.spanID)).count == spans.count)
            #expect(others.allSatisfy { $0.parentSpanID == server.spanID })
            #expect(others.allSatisfy { $0.start <= $0.end })
            let requests = others.filter { $0.kind == "SPAN_KIND_CLIENT" }.sorted { $0.start < $1.start }
            #expect(
                requests.map { $0.attributes["latchkey.step"] }
                    == ["discovery", "discovery", "token", "keys", "userinfo"])
            #expect(requests.allSatisfy { $0.attributes["server.address"] == "127.0.0.1" })
            let steps = others.filter { $0.kind == "SPAN_KIND_INTERNAL" }
            #expect(
                Set(steps.map(\.name)).isSuperset(
                    of: ["discovery", "token", "keys", "validate", "userinfo", "store"].map { "sign_in \($0)" }))
            #expect(steps.allSatisfy { $0.attributes["latchkey.provider"] == "zenkey" && !$0.isError })
            let keys = try #require(steps.first { $0.name == "sign_in keys" })
            let validation = try #require(steps.first { $0.name == "sign_in validate" })
            #expect(validation.start <= keys.start && keys.end <= validation.end)
            #expect(steps.filter { $0.end > $0.start }.count >= 4, "the steps have durations")
        }
    }

    @Test("Nothing of a user, no code, token, or text of the request's path is exported")
    func canaries() async throws {
        try await withReceiver { receiver in
            var secrets = ["HANDLE-CANARY", "QUERY-CANARY", "AGENT-CANARY", "STATE-CANARY"]
            try await SignInHarness.with(configure: configure(receiver.url)) { harness in
                harness.simulator.update(SignInHarness.mccmnc) { carrier in
                    carrier.users = [
                        .init(
                            id: "subject-canary", givenName: "Given-canary", familyName: "Family-canary",
                            email: "mail-canary@example.com", phoneNumber: "+12025550177", postalCode: "97477")
                    ]
                }
                let agent = ["User-Agent: AGENT-CANARY", "tracestate: STATE-CANARY=1", "baggage: user=STATE-CANARY"]
                let (fields, answer) = try await signIn(harness, agent + ["X-Correlation-Id: AGENT-CANARY"])
                secrets += fields.filter { !["scope", "mccmnc", "client_id"].contains($0.key) }.values
                secrets += [answer.token, answer.refreshToken].compactMap(\.self)
                _ = try await harness.app.send("GET", "/auth/zenkey-async-signin/HANDLE-CANARY?a=QUERY-CANARY")
                _ = try await harness.app.send("GET", "/nowhere/HANDLE-CANARY?a=QUERY-CANARY", headers: agent)
                harness.simulator.setFaults([.idTokenWrongNonce], for: SignInHarness.mccmnc)
                secrets += try await signIn(harness, expecting: 401).fields
                    .filter { !["scope", "mccmnc", "client_id"].contains($0.key) }.values
                _ = try await harness.app.me(answer.token ?? "")
                secrets += ["subject-canary", "Given-canary", "Family-canary", "mail-canary", "2025550177", "test-key"]
                secrets.append(SignInHarness.secret)
            }
            let said = receiver.said
            #expect(said.contains("POST /auth/zenkey-signin") && said.contains("GET /users/me"))
            let check = try receiver.exports.flatMap(\.spans).first { $0.attributes["latchkey.check"] != nil }
            #expect(check?.attributes["latchkey.check"] == "nonce" && check?.isError == true)
            #expect(check?.attributes["error.type"] == "invalid_id_token")
            for secret in secrets { #expect(!said.contains(secret), "\(secret)") }
        }
    }

    @Test("A caller that does not record its trace, and a ratio of 0, get no spans")
    func unsampled() async throws {
        try await withReceiver { receiver in
            try await SignInHarness.with(configure: configure(receiver.url) { $0.sampleRatio = 0 }) { harness in
                _ = try await signIn(harness)
                _ = try await signIn(harness, ["traceparent: 00-\(Self.trace)-\(Self.span)-01"])
            }
            let spans = try receiver.exports.flatMap(\.spans)
            #expect(!spans.isEmpty && spans.allSatisfy { $0.traceID == Self.trace })
        }
        try await withReceiver { receiver in
            try await SignInHarness.with(configure: configure(receiver.url)) { harness in
                _ = try await signIn(harness, ["traceparent: 00-\(Self.trace)-\(Self.span)-00"])
                _ = try await signIn(harness)
            }
            let spans = try receiver.exports.flatMap(\.spans)
            #expect(!spans.isEmpty && !spans.contains { $0.traceID == Self.trace })
        }
    }

    @Test("A receiver decodes all metrics of /metrics: cumulative sums, gauges and histograms")
    func metrics() async throws {
        try await withReceiver { receiver in
            var families: Set<String> = []
            try await SignInHarness.with(configure: configure(receiver.url)) { harness in
                _ = try await signIn(harness)
                families = try await harness.app.metrics().families
            }
            let export = try #require(try receiver.exports.last { $0.path == "/v1/metrics" })
            #expect(export.error == nil && export.resource["service.name"] == "login-test")
            var metrics: [String: JSONObject] = [:]
            for metric in export.metrics { metrics[metric["name"]?.string ?? ""] = metric }
            let known = Set(metrics.keys)
            #expect(families.subtracting(known).isEmpty, "\(families.subtracting(known))")
            let signIns = try #require(metrics["latchkey_sign_ins_total"]?["sum"]?.object)
            #expect(signIns["aggregationTemporality"] == "AGGREGATION_TEMPORALITY_CUMULATIVE")
            #expect(signIns["isMonotonic"] == true)
            let point = try #require(signIns["dataPoints"]?.array?.first?.object)
            #expect(point["asInt"] == "1")
            #expect(ReceivedSpan.texts(point["attributes"])["outcome"] == "signed_up")
            let start = try #require(point["startTimeUnixNano"]?.string.flatMap { UInt64($0) })
            let now = try #require(point["timeUnixNano"]?.string.flatMap { UInt64($0) })
            #expect(start <= now)
            #expect(metrics["latchkey_build_info"]?["gauge"]?.object?["dataPoints"]?.array?.count == 1)
            for name in known where name.hasSuffix("_duration_seconds") {
                let histogram = try #require(metrics[name]?["histogram"]?.object, "\(name)")
                #expect(histogram["aggregationTemporality"] == "AGGREGATION_TEMPORALITY_CUMULATIVE")
                for point in (histogram["dataPoints"]?.array ?? []).compactMap(\.object) {
                    let buckets = (point["bucketCounts"]?.array ?? []).compactMap { $0.string.flatMap { Int($0) } }
                    #expect(buckets.count == (point["explicitBounds"]?.array?.count ?? 0) + 1, "\(name)")
                    #expect(point["count"]?.string ?? "0" == String(buckets.reduce(0, +)), "\(name)")
                }
            }
        }
    }

    @Test("Without a working receiver sign-ins go on, the log says it once for each signal, and the process ends")
    func failing() async throws {
        // At the same time, because each waits for the exporter's pauses.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for mode in ["gone", "hang", "500", "429"] { group.addTask { try await failing(mode) } }
            try await group.waitForAll()
        }
    }

    private func failing(_ mode: String) async throws {
        try await withReceiver { receiver in
            let gone = try ClosedPort()
            defer { withExtendedLifetime(gone) {} }
            if mode != "gone" { try await receiver.answer(mode) }
            try await AdminHarness.with { harness in
                let process = try LatchkeyProcess(
                    ["serve"],
                    environment: harness.environment.merging([
                        "LATCHKEY_TELEMETRY_OTLP_ENDPOINT": mode == "gone"
                            ? "http://127.0.0.1:\(gone.number)" : receiver.url,
                        "LATCHKEY_TELEMETRY_METRICS_INTERVAL": "1s",
                    ]) { $1 }, directory: harness.directory.path)
                let app = App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey)
                for _ in 0..<20 {
                    #expect(try await app.signIn(harness.authorizedResponse()).status == 200, "\(mode)")
                }
                if mode == "hang" {
                    try await receiver.wait { $0.path == "/v1/traces" }
                    #expect(try await app.signIn(harness.authorizedResponse()).status == 200)
                } else {
                    let outcome = mode == "500" ? "refused" : "failed"
                    try await until {
                        let metrics = try await app.metrics()
                        return ["traces", "metrics"].allSatisfy { signal in
                            metrics.sum(
                                "latchkey_telemetry_exports_total", #"signal="\#(signal)",outcome="\#(outcome)""#) >= 2
                        }
                    }
                }
                let spans = try await app.metrics()
                // Those that wait, and one batch.
                #expect(spans.sum("latchkey_telemetry_spans_waiting") <= 4096 + 512)
                if mode == "500" {
                    #expect(spans.sum("latchkey_telemetry_spans_total", #"outcome="refused""#) > 0)
                }
                process.send(SIGTERM)
                let ending = await process.ending()
                #expect(ending.status == 0, "\(mode)")
                let lines = ending.output.split(separator: "\n").filter { $0.contains("telemetry cannot be exported") }
                for signal in ["traces", "metrics"] where mode != "hang" {
                    #expect(lines.count { $0.contains("signal=\(signal)") } == 1, "\(ending.output.suffix(2000))")
                }
                #expect(lines.allSatisfy { $0.contains("reason=") })
                #expect(ending.output.contains("telemetry is exported endpoint=http://127.0.0.1:"))
            }
        }
    }

    @Test("Without an endpoint nothing is exported, and no metric names the exporter")
    func off() async throws {
        try await SignInHarness.with { harness in
            _ = try await signIn(harness)
            let text = try await harness.app.metrics().text
            #expect(!text.contains("latchkey_telemetry"))
        }
    }
}
