import Foundation
import HTTPTypes
import Logging
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Redirects

/// The log line of each kind of sign-in has the duration of every step that ran, and of no other.
@Suite("The log line of a sign-in has the duration of each step")
struct StepTimesTests {
    /// The steps with durations in a line, after a check of the durations.
    private func steps(
        _ line: CapturedLog.Line?, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Set<String> {
        let line = try #require(line, sourceLocation: sourceLocation)
        let all = try #require(Double(line.metadata["ms"] ?? ""), sourceLocation: sourceLocation)
        let times = line.metadata.filter { $0.key.hasSuffix("_ms") }
        var sum = 0.0
        for (name, text) in times {
            let time = try #require(Double(text), "\(name)", sourceLocation: sourceLocation)
            #expect(time >= 0, "\(name)", sourceLocation: sourceLocation)
            sum += time
        }
        // Each is rounded to a hundredth.
        #expect(sum <= all + 0.01 * Double(times.count + 1), sourceLocation: sourceLocation)
        return Set(times.keys.map { String($0.dropLast("_ms".count)) })
    }

    private static let withAttributes = SignInBody().with("scope", "\"openid email\"")

    @Test("with a code; the keys' only if the sign-in waited for them")
    func code() async throws {
        let app = try TestApp()
        _ = try await app.token(Self.withAttributes)
        #expect(
            try steps(app.log.signIns.last) == [
                "recall", "discovery", "token", "keys", "validate", "userinfo", "store",
            ])
        _ = try await app.token(SignInBody().code("CODE-2"))
        #expect(try steps(app.log.signIns.last) == ["discovery", "token", "validate", "store"])
        app.clock.advance(bySeconds: 61)
        _ = try await app.token(SignInBody().code("CODE-3"))
        // Without other instances the database has nothing that memory lacks.
        #expect(try steps(app.log.signIns.last) == ["discovery", "token", "validate", "store"])
        let issuing = try TestApp(client: { $0.nonce = .issued })
        let nonce = try #require(try await issuing.post("/auth/zenkey/attempts", "{}").text("nonce"))
        issuing.carrier.script { $0.nonce = nonce }
        _ = try await issuing.token(SignInBody().with("nonce", "\"\(nonce)\""))
        #expect(try steps(issuing.log.signIns.last).contains("attempt"))
    }

    @Test("with a code and a slow carrier")
    func slowCarrier() async throws {
        let app = try TestApp()
        app.carrier.script {
            $0.token = { _ async throws(OutboundError) in
                // The steps are timed by the system's monotonic clock, so the response must take real time.
                try? await Task.sleep(for: .milliseconds(40))
                return .json(#"{"error":"invalid_grant"}"#, status: 400)
            }
        }
        _ = try await app.signIn()
        let line = try #require(app.log.signIns.last)
        #expect(line.metadata["outcome"] == "invalid_grant")
        #expect(line.metadata["failed_step"] == "token")
        #expect(try steps(line) == ["recall", "discovery", "token"])
        #expect(try #require(Double(line.metadata["token_ms"] ?? "")) >= 30)
    }

    @Test("that may move an account")
    func migration() async throws {
        let app = try TestApp()
        app.carrier.script { $0.claims["aka"] = "\"e30.e30.e30\"" }
        _ = try await app.token()
        #expect(
            try steps(app.log.signIns.last) == ["recall", "discovery", "token", "keys", "validate", "migrate", "store"])
    }

    @Test("of a transaction")
    func transaction() async throws {
        let app = try TestApp()
        let token = try await app.token()
        app.carrier.script {
            $0.claims = ["context": "\"CONTEXT\"", "auth_time": "\(app.clock.now.secondsSinceEpoch)"]
        }
        let body = SignInBody().code("CODE-t").with("acr_values", "\"a3\"").with("context", "\"CONTEXT\"")
        let answer = try await app.send(
            .post, "/auth/zenkey/authorize", [.authorization: "Bearer \(token)", .contentType: "application/json"],
            body: body.json)
        #expect(answer.status == 200)
        let line = app.log.lines.last { $0.message == "transaction" }
        #expect(try steps(line) == ["discovery", "token", "validate", "store"])
    }

    @Test("of each step of a backchannel authentication")
    func backchannelAuthentication() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        func line(_ step: String) -> CapturedLog.Line? {
            calls.app.log.lines.last { $0.message == "backchannel authentication" && $0.metadata["step"] == step }
        }
        #expect(try steps(line("start")) == ["discovery", "request", "store"])
        #expect(try await calls.retry(handle).status == 200)
        #expect(try steps(line("retry")) == ["discovery", "request", "store"])
        #expect(try await calls.notify().status == 204)
        #expect(try steps(line("notification")) == ["discovery", "keys", "validate", "store"])
        #expect(try await calls.poll(handle).status == 200)
        #expect(try steps(line("end")) == ["store"])
        let other = try await calls.handle()
        #expect(try await calls.cancel(other).status == 200)
        #expect(try steps(line("cancel")) == ["store"])
    }

    private static let start = RedirectStart(
        provider: ProviderReference(provider: "zenkey"), clientType: .ios, redirectURI: "com.example.app://cb",
        callbackURL: "https://login.example/auth/zenkey/callback")

    @Test("of a redirect that the carrier ended without a code")
    func redirect() async throws {
        let app = try TestApp()
        let flow = app.redirectSignIn
        var start = Self.start
        start.network = MCCMNC("310410")
        guard case .goOn(let location, _, _) = try await flow.start(start, browser: nil) else {
            Issue.record("it did not begin")
            return
        }
        let state = try #require(location.split(separator: "state=").last?.prefix { $0 != "&" })
        var answer = AuthorizationResponse(provider: "zenkey")
        answer.state = Secret(String(state))
        answer.error = "access_denied"
        _ = try await flow.finish(answer, browser: nil)
        let line = try #require(app.log.signIns.last)
        #expect(app.log.signIns.count == 1)
        #expect(line.message == "sign-in refused")
        #expect(line.metadata["outcome"] == "access_denied")
        #expect(line.metadata["mccmnc"] == "310410")
        #expect(line.metadata["provider"] == "zenkey")
        #expect(line.metadata["correlation_id"] != nil)
        #expect(try steps(line) == [])
    }

    @Test("of a redirect whose carrier cannot be found")
    func redirectWithoutCarrier() async throws {
        let app = try TestApp()
        app.carrier.script { script in
            script.discovery = { _ throws(OutboundError) in
                throw OutboundError(.timedOut, mayHaveBeenSent: true, reason: "")
            }
        }
        var start = Self.start
        start.network = MCCMNC("310410")
        _ = try await app.redirectSignIn.start(start, browser: nil)
        let line = try #require(app.log.signIns.last)
        #expect(line.level == .warning)
        #expect(line.metadata["outcome"] == "carrier_timeout")
        #expect(line.metadata["mccmnc"] == nil, "an unauthenticated request can name any network")
        #expect(try steps(line) == ["discovery"])
    }

    @Test("docs/observability.md describes each step, and no other")
    func document() throws {
        let text = try Repository.text("docs/observability.md")
        let told = text.matches(of: /\| `([a-z]+)_ms` \|/).map { String($0.1) }
        #expect(told == SignInReport.Step.allCases.map(\.rawValue))
    }
}
