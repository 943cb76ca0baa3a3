import CarrierSimulator
import Foundation
import Primitives
import TestSupport
import Testing

/// `traceparent` where no tracer is told: from an app to the log, and to the carriers.
@Suite(.serialized) struct TraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    /// Signs in with fields of the head, and gives what of a trace the carriers got.
    private func fields(_ headers: [String], _ stage: Stage) async throws -> [[String]] {
        let before = stage.simulator.log.entries.count
        let answer = try await stage.app.send(
            "POST", "/auth/zenkey-signin", headers: headers + ["Content-Type: application/json"],
            body: App.json(
                try stage.authorizedResponse(scope: "openid email").merging(["scope": "openid email"]) { $1 }))
        #expect(answer.status == 200)
        return stage.simulator.log.entries.dropFirst(before).map(\.traceFields)
    }

    @Test(
        "Every request to a carrier is a span of its own below the app's, in the same trace; and no more is passed on")
    func passedOn() async throws {
        try await Stage.with { stage in
            let seen = try await fields(
                [
                    "traceparent: 00-\(Self.trace)-\(Self.span)-01", "tracestate: vendor=1", "baggage: user=7",
                ], stage)
            // Discovery, token, keys, userinfo.
            #expect(seen.count == 4)
            for fields in seen {
                #expect(fields.count == 1)
                #expect(fields.first?.hasPrefix("traceparent: 00-\(Self.trace)-") == true)
                #expect(fields.first?.contains(Self.span) == false)
                #expect(fields.first?.hasSuffix("-01") == true)
            }
            #expect(Set(seen.flatMap(\.self)).count == 4)
        }
    }

    @Test(
        "Without one, or with one that is not well formed, or with two, carriers get none",
        arguments: [
            [], ["traceparent: 00-\(trace)-\(span)"], ["traceparent: 00-\(trace.uppercased())-\(span)-01"],
            ["traceparent: 00-\(trace)-\(span)-01", "traceparent: 00-\(trace)-\(span)-01"],
        ])
    func ignored(headers: [String]) async throws {
        try await Stage.with { stage in
            let seen = try await fields(headers, stage)
            #expect(seen == [[], [], [], []])
        }
    }

    @Test("The lines about a request of a trace have its id; a bad one stands nowhere")
    func lines() async throws {
        try await AdminHarness.with { stage in
            let path = try stage.write("log: {level: verbose}\n", as: "latchkey.yaml")
            let process = try LatchkeyProcess(
                ["serve", "--config", path], environment: stage.environment, directory: stage.directory.path)
            let app = App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey)
            func signIn(_ correlationID: String, _ traceparent: String) async throws -> String {
                let body = App.json([
                    "client_id": Stage.clientID, "code": "no-such-code", "mccmnc": Stage.mccmnc,
                    "redirect_uri": Stage.redirectURI, "code_verifier": String(repeating: "v", count: 43),
                    "correlation_id": correlationID,
                ])
                let answer = try await app.send(
                    "POST", "/auth/zenkey-signin",
                    headers: ["Content-Type: application/json", "traceparent: \(traceparent)"], body: body)
                #expect(answer.status == 401)
                let id = try #require(answer.json["request_id"]?.string)
                // The line about the request is the last that is written for it.
                return try await process.wait { text in
                    let lines = text.split(separator: "\n")
                    guard lines.contains(where: { $0.contains("request_id=\(id)") }) else { return nil }
                    return lines.filter { $0.contains("request_id=\(id)") || $0.contains(correlationID) }
                        .joined(separator: "\n")
                }
            }
            let good = try await signIn("good-one", "00-\(Self.trace)-\(Self.span)-00")
            #expect(good.split(separator: "\n").count == 2)
            #expect(good.split(separator: "\n").allSatisfy { $0.contains("trace_id=\(Self.trace)") })
            let bad = try await signIn("bad-one", "00-\(Self.trace)-\(Self.span)")
            #expect(bad.split(separator: "\n").count == 2)
            #expect(!bad.contains("trace_id"))
            process.send(SIGTERM)
            _ = await process.ending()
        }
    }
}
