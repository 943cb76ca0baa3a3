import HTTPTypes
import Logging
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The errors of a sign-in when the carrier misbehaves.
@Suite("A sign-in with a faulty carrier")
struct SignInRefusalTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let what: String
        let script: @Sendable (inout FakeCarrier.Script) -> Void
        let status: Int
        let error: String
        let type: String
        var says = ""
        var body = SignInBody()

        var testDescription: String { what }
    }

    private static func answer(_ text: String, _ status: Int = 200) -> FakeCarrier.Answer {
        { _ throws(OutboundError) in .json(text, status: status) }
    }

    private static func failure(_ code: OutboundError.Code, sent: Bool = true) -> FakeCarrier.Answer {
        { _ throws(OutboundError) in throw OutboundError(code, mayHaveBeenSent: sent, reason: "scripted") }
    }

    @Test("ends well where a provider's userinfo fails, and logs the reason", arguments: [401, 404, 500])
    func userInfo(status: Int) async throws {
        let app = try TestApp()
        app.carrier.script { $0.userInfo = Self.answer("{}", status) }
        let body = SignInBody().with("mccmnc", nil).with("scope", "\"openid email\"")
        #expect(try await app.post("/auth/bank/sign-in", body.json).status == 200)
        let line = app.log.lines.first { $0.message.contains("userinfo failed") }
        #expect(line?.level == .warning)
        #expect(line?.metadata["cause"]?.contains("userinfo response") == true, "\(app.log.text)")
    }

    static let rows: [Row] = [
        Row(
            what: "used code", script: { $0.token = answer(#"{"error":"invalid_grant"}"#, 400) }, status: 401,
            error: "invalid_grant", type: "requestDenied", says: "Start again with a new authorization request"),
        Row(
            what: "wrong verifier", script: { $0.token = answer(#"{"error":"request_denied"}"#, 403) }, status: 401,
            error: "request_denied", type: "requestDenied"),
        Row(
            what: "the carrier's own code", script: { $0.token = answer(#"{"error":"sim_swapped"}"#, 400) },
            status: 401, error: "sim_swapped", type: "unknownError"),
        Row(
            what: "a code that means something else of us",
            script: { $0.token = answer(#"{"error":"invalid_token"}"#, 400) }, status: 401, error: "invalid_grant",
            type: "unknownError"),
        Row(
            what: "a code of this API",
            script: { $0.token = answer(#"{"error":"receipt_redeemed"}"#, 400) }, status: 401, error: "invalid_grant",
            type: "unknownError"),
        Row(
            what: "the code that offers a registration",
            script: { $0.token = answer(#"{"error":"user_not_registered"}"#, 400) }, status: 401,
            error: "invalid_grant", type: "unknownError"),
        Row(
            what: "the user is not the carrier's", script: { $0.token = answer(#"{"error":"user_not_found"}"#, 400) },
            status: 401, error: "user_not_found", type: "discoveryStateError"),
        Row(
            what: "the carrier has a fault", script: { $0.token = answer(#"{"error":"server_error"}"#, 400) },
            status: 502, error: "carrier_error", type: "serverError"),
        Row(
            what: "our secret is wrong", script: { $0.token = answer(#"{"error":"invalid_client"}"#, 401) },
            status: 502, error: "carrier_error", type: "configurationError", says: "administrator"),
        Row(
            what: "an error page", script: { $0.token = answer("<html>oops</html>", 500) }, status: 502,
            error: "carrier_error", type: "serverError",
            says: "The provider's response cannot be used. The token endpoint's response, of status 500, is not a"),
        Row(
            what: "tokens without an ID token",
            script: { $0.token = answer(#"{"access_token":"a","token_type":"bearer"}"#) }, status: 502,
            error: "carrier_error", type: "serverError", says: "has no id_token. Start again with a new"),
        Row(
            what: "a connection that is closed without an answer", script: { $0.token = failure(.closed) }, status: 502,
            error: "carrier_error", type: "networkFailure", says: "Start again with a new authorization request"),
        Row(
            what: "no answer in time", script: { $0.token = failure(.timedOut) }, status: 504,
            error: "carrier_timeout", type: "requestTimeout", says: "Start again with a new authorization request"),
        Row(
            what: "no connection", script: { $0.token = failure(.unreachable, sent: false) }, status: 502,
            error: "carrier_error", type: "networkFailure", says: "Send the same request again"),
        Row(
            what: "too many requests under way", script: { $0.token = failure(.overloaded, sent: false) },
            status: 503, error: "temporarily_unavailable", type: "serverError", says: "Send the same request again"),
        Row(
            what: "a carrier that is left alone", script: { $0.token = failure(.suspended, sent: false) },
            status: 503, error: "temporarily_unavailable", type: "serverError", says: "Send the same request again"),
        Row(
            what: "discovery without connection", script: { $0.discovery = failure(.unreachable, sent: false) },
            status: 502, error: "carrier_error", type: "networkFailure", says: "Send the same request again"),
        Row(
            what: "discovery not in time", script: { $0.discovery = failure(.timedOut) }, status: 504,
            error: "carrier_timeout", type: "requestTimeout"),
        Row(
            what: "unknown network",
            script: { $0.discovery = answer(#"{"error":"unknown","redirect_uri":"https://x.xcijv.com/"}"#) },
            status: 400, error: "invalid_request", type: "discoveryStateError",
            says: "https://discoveryui.xcijv.com/ui"),
        Row(
            what: "discovery refuses",
            script: { $0.discovery = answer(#"{"error":"weather","error_description":"rain"}"#) }, status: 502,
            error: "carrier_error", type: "serverError"),
        Row(
            what: "metadata on a strange host",
            script: { $0.discovery = answer(#"{"issuer":"https://evil.example"}"#) }, status: 502,
            error: "carrier_error", type: "configurationError", says: "metadata, issuer is missing or not acceptable"),
        Row(
            what: "no keys", script: { $0.keys = answer("{}", 500) }, status: 502, error: "carrier_error",
            type: "serverError", says: "key set, of status 500, cannot be read"),
        Row(
            what: "another nonce", script: { $0.nonce = "another" }, status: 401, error: "invalid_id_token",
            type: "unknownError", says: "(nonce)"),
        Row(
            what: "weaker authentication", script: { $0.claims["acr"] = "\"a1\"" }, status: 401,
            error: "invalid_id_token", type: "unknownError", says: "(acr)",
            body: SignInBody().with("acr_values", "\"a3\"")),
        Row(
            what: "another context", script: { $0.claims["context"] = "\"Pay 1000\"" }, status: 401,
            error: "invalid_id_token", type: "unknownError", says: "(context)",
            body: SignInBody().with("context", "\"Pay 10\"")),
        Row(
            what: "userinfo about somebody else",
            script: { $0.userInfo = answer(FakeCarrier.userInfo(of: "SUBJECT-of-another")) }, status: 401,
            error: "invalid_id_token", type: "unknownError", says: "(userinfo_subject)",
            body: SignInBody().with("scope", "\"openid email\"")),
        Row(
            what: "no userinfo where it is wanted", script: { $0.userInfo = answer("{}", 503) }, status: 502,
            error: "carrier_error", type: "serverError", body: SignInBody().with("scope", "\"openid email\"")),
    ]

    @Test("fails with the error of the table", arguments: rows)
    func refused(_ row: Row) async throws {
        let app = try TestApp()
        app.carrier.script(row.script)
        let answer = try await app.signIn(row.body)
        #expect(answer.status == row.status, "\(answer.body)")
        #expect(answer.error == row.error)
        #expect(answer.text("error_type") == row.type)
        #expect(answer.description.contains(row.says), "\(answer.description)")
        #expect(answer.text("correlation_id") == "corr-1")
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect((answer.headers[.wwwAuthenticate] != nil) == (row.status == 401))
        let line = try #require(app.log.signIns.first)
        #expect(line.metadata["outcome"] == row.error)
        #expect(line.metadata["correlation_id"] == "corr-1")
        #expect(app.log.signIns.count == 1)
    }

    @Test("Only a fault that may pass by itself is a reason to try again")
    func persistence() async throws {
        let scripts: [(mayPass: Bool, script: (inout FakeCarrier.Script) -> Void)] = [
            (false, { $0.discovery = Self.answer(#"{"issuer":"https://evil.example"}"#) }),
            (false, { $0.token = Self.answer(#"{"error":"invalid_client"}"#, 401) }),
            (true, { $0.token = Self.answer("oops", 500) }), (true, { $0.keys = Self.answer("{}", 500) }),
        ]
        for (mayPass, script) in scripts {
            let app = try TestApp()
            app.carrier.script(script)
            let answer = try await app.signIn()
            #expect(answer.error == "carrier_error")
            let message = try #require(answer.text("message"))
            #expect(message.contains("try again") == mayPass, "\(message)")
            #expect((answer.text("error_type") == "configurationError") != mayPass)
        }
    }

    @Test("The server's faults are logged as errors, the carrier's as warnings, refusals as info")
    func logLevels() async throws {
        let levels: [(String, Int, String)] = [
            (#"{"error":"invalid_client"}"#, 401, "error"), ("oops", 500, "warning"),
            (#"{"error":"invalid_grant"}"#, 400, "info"),
        ]
        for (text, status, level) in levels {
            let app = try TestApp()
            app.carrier.script { $0.token = Self.answer(text, status) }
            _ = try await app.signIn()
            #expect(app.log.signIns.first?.level.rawValue == level)
        }
    }

    @Test("Userinfo is fetched only when the request or the client asks for attributes")
    func userInfo() async throws {
        let plain = try TestApp()
        _ = try await plain.token()
        #expect(plain.carrier.userInfoRequests == 0)
        let byRequest = try TestApp()
        let token = try await byRequest.token(SignInBody().with("scope", "\"openid email\""))
        #expect(byRequest.carrier.userInfoRequests == 1)
        #expect(try await byRequest.me(token).text("email") == "jane@mail.example")
        let byClient = try TestApp(client: { $0.scopes = ["openid", "name"] })
        _ = try await byClient.token()
        #expect(byClient.carrier.userInfoRequests == 1)
    }

    @Test("Discovery, token request and userinfo carry the correlation id, and the log names the steps")
    func correlation() async throws {
        let app = try TestApp()
        _ = try await app.token(SignInBody().with("scope", "\"openid email\""))
        // The issuer's keys and its own configuration are the same for every sign-in.
        let shared = ["/keys", "/.well-known/openid-configuration"]
        for request in app.carrier.http.requests where !shared.contains(where: request.url.text.hasSuffix) {
            #expect((request.url.text + String(decoding: request.body, as: UTF8.self)).contains("corr-1"))
        }
        let line = try #require(app.log.signIns.first)
        #expect(line.metadata["outcome"] == "signed_up")
        #expect(line.metadata["mccmnc"] == "310410")
        #expect(line.metadata["provider"] == "zenkey")
        for step in ["discovery_ms", "token_ms", "validate_ms", "userinfo_ms", "store_ms"] {
            #expect(line.metadata[step] != nil)
        }
    }

    @Test(
        "The log line says what was wrong with a token response",
        arguments: [
            ("<html>", "The token endpoint's response, of status 200, is not a JSON object."),
            (
                #"{"token_type":"bearer"}"#,
                "The token endpoint's response has no access_token of visible ASCII characters."
            ),
            (
                #"{"access_token":"a","token_type":"mac"}"#,
                "The token endpoint's response has a token_type other than Bearer."
            ),
            (
                #"{"access_token":"a","token_type":"bearer"}"#,
                "The token endpoint's response has no id_token."
            ),
        ])
    func cause(_ response: String, _ cause: String) async throws {
        let app = try TestApp()
        app.carrier.script { $0.token = Self.answer(response) }
        #expect(try await app.signIn().status == 502)
        #expect(app.log.signIns.map { $0.metadata["cause"] } == ["\(cause)"])
    }
}
