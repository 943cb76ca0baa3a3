import CarrierSimulator
import Foundation
import Primitives
import TestSupport
import Testing

/// `traceparent` without a tracer: from an app to the log and to the carriers.
@Suite(.serialized) struct TraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    /// Signs in with header fields and returns the carriers' trace fields.
    private func fields(_ headers: [String], _ harness: SignInHarness) async throws -> [[String]] {
        let before = harness.simulator.log.entries.count
        let response = try await harness.app.send(
            "POST", "/auth/zenkey-signin", headers: headers + ["Content-Type: application/json"],
            body: App.json(
                try harness.authorizedResponse(scope: "openid email").merging(["scope": "openid email"]) { $1 }))
        #expect(response.status == 200)
        return harness.simulator.log.entries.dropFirst(before).map(\.traceFields)
    }

    @Test(
        "Each request to a carrier is a child of the app's span in the same trace; nothing else is forwarded")
    func passedOn() async throws {
        try await SignInHarness.with { harness in
            let seen = try await fields(
                [
                    "traceparent: 00-\(Self.trace)-\(Self.span)-01", "tracestate: vendor=1", "baggage: user=7",
                ], harness)
            // Discovery, the issuer's own configuration, token, keys, userinfo.
            #expect(seen.count == 5)
            for fields in seen {
                #expect(fields.count == 1)
                #expect(fields.first?.hasPrefix("traceparent: 00-\(Self.trace)-") == true)
                #expect(fields.first?.contains(Self.span) == false)
                #expect(fields.first?.hasSuffix("-01") == true)
            }
            #expect(Set(seen.flatMap(\.self)).count == 5)
        }
    }

    @Test(
        "Without a traceparent, or with a malformed or repeated one, carriers get none",
        arguments: [
            [], ["traceparent: 00-\(trace)-\(span)"], ["traceparent: 00-\(trace.uppercased())-\(span)-01"],
            ["traceparent: 00-\(trace)-\(span)-01", "traceparent: 00-\(trace)-\(span)-01"],
        ])
    func ignored(headers: [String]) async throws {
        try await SignInHarness.with { harness in
            let seen = try await fields(headers, harness)
            #expect(seen == [[], [], [], [], []])
        }
    }

    @Test("Log lines of a traced request have the trace id; a malformed one is not logged")
    func lines() async throws {
        try await AdminHarness.with { harness in
            let path = try harness.write("log: {level: verbose}\n", as: "latchkey.yaml")
            let process = try LatchkeyProcess(
                ["serve", "--config", path], environment: harness.environment, directory: harness.directory.path)
            let app = App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey)
            func signIn(_ correlationID: String, _ traceparent: String) async throws -> String {
                let body = App.json([
                    "client_id": SignInHarness.clientID, "code": "unknown-\(correlationID)",
                    "mccmnc": SignInHarness.mccmnc,
                    "redirect_uri": SignInHarness.redirectURI, "code_verifier": String(repeating: "v", count: 43),
                    "correlation_id": correlationID,
                ])
                let response = try await app.send(
                    "POST", "/auth/zenkey-signin",
                    headers: ["Content-Type: application/json", "traceparent: \(traceparent)"], body: body)
                #expect(response.status == 401)
                let id = try #require(response.json["request_id"]?.string)
                // The access log line of a request is its last line.
                return try await process.wait { text in
                    let lines = text.split(separator: "\n")
                    guard lines.contains(where: { $0.contains("request_id=\(id)") }) else { return nil }
                    return lines.filter { $0.contains("request_id=\(id)") || $0.contains(correlationID) }
                        .joined(separator: "\n")
                }
            }
            let good = try await signIn("good-one", "00-\(Self.trace)-\(Self.span)-00")
            // The sign-in, the request, and the two requests to the carrier: discovery and token.
            #expect(good.split(separator: "\n").count == 4)
            #expect(good.split(separator: "\n").allSatisfy { $0.contains("trace_id=\(Self.trace)") })
            let bad = try await signIn("bad-one", "00-\(Self.trace)-\(Self.span)")
            #expect(bad.split(separator: "\n").count == 3)
            #expect(!bad.contains("trace_id"))
            process.send(SIGTERM)
            _ = await process.ending()
        }
    }
}
