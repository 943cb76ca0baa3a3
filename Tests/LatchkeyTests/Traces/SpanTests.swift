import CarrierSimulator
import Primitives
import TestSupport
import Testing
import Tracing

/// The spans of a service with a bootstrapped tracer.
@Suite(.serialized) struct SpanTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private func with(_ body: (SignInHarness, RecordingTracer) async throws -> Void) async throws {
        let tracer = RecordingTracer()
        try await withTracer(tracer) {
            try await SignInHarness.with { harness in try await body(harness, tracer) }
        }
    }

    /// Signs in with header fields.
    private func signIn(_ headers: [String], _ harness: SignInHarness) async throws -> (
        fields: [String: String], status: Int
    ) {
        let fields = try harness.authorizedResponse(scope: "openid email").merging(["scope": "openid email"]) { $1 }
        let response = try await harness.app.send(
            "POST", "/auth/zenkey-signin", headers: headers + ["Content-Type: application/json"],
            body: App.json(fields))
        return (fields, response.status)
    }

    @Test(
        "A request is a child of the caller's span, and each request to a carrier its child, whose id the carrier gets"
    )
    func spans() async throws {
        try await with { harness, tracer in
            let (fields, status) = try await signIn(["traceparent: 00-\(Self.trace)-\(Self.span)-01"], harness)
            #expect(status == 200)
            let server = try #require(tracer.ended.first { $0.kind == .server })
            #expect(server.operationName == "POST /auth/zenkey-signin")
            #expect(server.place?.traceID == Self.trace)
            #expect(server.parent?.spanID == Self.span)
            #expect(!server.isError)
            #expect(
                server.texts == [
                    "http.request.method": "POST", "http.route": "/auth/zenkey-signin",
                    "url.scheme": "http", "server.address": "127.0.0.1", "http.response.status_code": "200",
                ])
            let outgoing = tracer.ended.filter { $0.kind == .client }
            #expect(
                outgoing.map { $0.texts["latchkey.step"] }
                    == ["discovery", "discovery", "token", "keys", "userinfo"], "with the issuer's own configuration")
            #expect(outgoing.allSatisfy { $0.parent == server.place && $0.texts["server.address"] == "127.0.0.1" })
            #expect(outgoing.allSatisfy { $0.texts["http.response.status_code"] == "200" && !$0.isError })
            let sent = harness.simulator.log.entries.suffix(5).map(\.traceFields)
            #expect(sent == outgoing.map { ["traceparent: \($0.place?.traceparent ?? "")"] })
            let told = tracer.ended.flatMap { $0.texts.values + [$0.operationName] }
            for (name, value) in fields where !["scope", "mccmnc"].contains(name) {
                #expect(!told.contains { $0.contains(value) }, "\(value)")
            }
            let steps = tracer.ended.filter { $0.kind == .internal }
            #expect(
                Set(steps.map(\.operationName)).isSuperset(
                    of: ["discovery", "token", "keys", "validate", "userinfo", "store"].map { "sign_in \($0)" }))
            #expect(steps.allSatisfy { $0.parent == server.place && !$0.isError })
        }
    }

    @Test(
        "Malformed trace context is ignored: the request starts a trace, and the tracer gets nothing of it",
        arguments: [
            ["traceparent: 00-\(trace.uppercased())-\(span)-01"], ["traceparent: 00-\(trace)-\(span)"],
            ["traceparent: 00-\(trace)-\(span)-01", "traceparent: 00-\(trace)-\(span)-01"],
            ["baggage: user=7", "b3: \(trace)-\(span)-1"],
            ["traceparent: 00-\(trace)-\(span)-01", "baggage: user=7"],
        ])
    func untrusted(headers: [String]) async throws {
        try await with { harness, tracer in
            _ = try await harness.app.send("GET", "/auth/providers", headers: headers)
            let server = try #require(tracer.ended.first { $0.kind == .server })
            let isGood =
                headers.count == 2 && headers.last == "baggage: user=7"
                && headers.first?.hasPrefix("traceparent") == true
            #expect((server.parent != nil) == isGood)
            #expect((server.place?.traceID == Self.trace) == isGood)
            #expect(tracer.receivedBaggage == [])
        }
    }

    @Test("A failing carrier is an error of its span and of the request's span")
    func failure() async throws {
        try await with { harness, tracer in
            harness.simulator.setFaults([.token500], for: SignInHarness.mccmnc)
            let (_, status) = try await signIn([], harness)
            #expect(status == 502)
            let server = try #require(tracer.ended.first { $0.kind == .server })
            #expect(server.isError)
            #expect(server.texts["error.type"] == "502")
            let token = try #require(tracer.ended.first { $0.texts["latchkey.step"] == "token" })
            #expect(token.isError)
            #expect(token.texts["http.response.status_code"] == "500")
            #expect(token.texts["error.type"] == "500")
            let steps = tracer.ended.filter { $0.kind == .internal }
            #expect(steps.filter(\.isError).map(\.operationName) == ["sign_in token"])
            #expect(steps.first(where: \.isError)?.texts["error.type"] == "carrier_error")
        }
    }

    @Test("Spans have the names of routes, never text of the caller")
    func names() async throws {
        try await with { harness, tracer in
            _ = try await harness.app.send("GET", "/auth/zenkey-async-signin/HANDLE")
            _ = try await harness.app.send("BREW", "/users/me")
            _ = try await harness.app.send("GET", "/nowhere/SECRET")
            #expect(
                tracer.ended.map(\.operationName) == [
                    "GET /auth/zenkey-async-signin/{auth_req_id}", "_OTHER /users/me", "GET",
                ])
            #expect(
                !tracer.ended.contains { $0.texts.values.contains { $0.contains("HANDLE") || $0.contains("SECRET") } })
        }
    }
}
