import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// What no log line, and no unrelated response, may contain.
@Suite("Nothing secret or personal leaks")
struct PrivacyTests {
    /// Only the token request and the store may contain these.
    private static let secrets = [
        "CODE-", "VERIFIER-", "NONCE-", "SUBJECT-", "ACCESS-token", "CLIENT-secret", "PASSWORD",
    ]
    private static let personal = ["jane@mail.example", "Jane", "90210-3456", "+13101234567"]

    private static func script(_ text: String, _ status: Int) -> FakeCarrier.Answer {
        { _ throws(OutboundError) in .json(text, status: status) }
    }

    /// Runs every kind of flow and returns all responses.
    private func allFlows(_ app: TestApp) async throws -> [Answer] {
        var answers: [Answer] = []
        let body = SignInBody().with("scope", "\"openid email\"")
        answers.append(try await app.signIn(body))
        let handle = try #require(answers[0].text("state_key"))
        let form =
            #"{"state_key":"\#(handle)","name":"Jane","email":"jane@mail.example","password":"PASSWORD","phone":"x"}"#
        answers.append(try await app.post("/users", form))
        answers.append(try await app.post("/users", form.replacing("\"phone\":\"x\"", with: "\"a\":1")))
        answers.append(try await app.post("/users", form))
        answers.append(try await app.signIn(body))
        let token = try #require(answers.last?.text("token"))
        answers.append(try await app.asUser(.delete, "/auth/token", token))
        answers.append(try await app.me(token))
        answers += try await refusedFlows(app)
        return answers
    }

    private func refusedFlows(_ app: TestApp) async throws -> [Answer] {
        let scripts: [@Sendable (inout FakeCarrier.Script) -> Void] = [
            { $0.token = Self.script(#"{"error":"invalid_grant","error_description":"CODE-x SUBJECT-y"}"#, 400) },
            { $0.token = Self.script("CODE- SUBJECT- ACCESS-token", 500) },
            { $0.token = Self.script(#"{"error":"SUBJECT of an error"}"#, 400) },
            { $0.claims["nonce"] = "\"SUBJECT-\"" }, { $0.claims["sub"] = "\"SUBJECT \"" },
            { $0.claims["iss"] = "\"SUBJECT-\"" }, { $0.userInfo = Self.script(#"{"sub":"SUBJECT-z"}"#, 200) },
        ]
        var answers: [Answer] = []
        for (index, script) in scripts.enumerated() {
            app.carrier.script {
                $0 = FakeCarrier.Script()
                script(&$0)
            }
            answers.append(
                try await app.signIn(SignInBody().code("CODE-r\(index)").with("scope", "\"openid email\"")))
        }
        answers.append(try await app.signIn(SignInBody().with("code", "[\"CODE-\"]").with("mccmnc", "\"SUBJECT-\"")))
        answers.append(try await app.post("/auth/zenkey-signin", #"{"code":"CODE-1","code_verifier":"VERIFIER-"#))
        for call in [StoreScript.Call.signIn, .any] {
            app.storeScript.fail(call, with: StorageError(.unavailable, reason: "scripted"))
            answers.append(try await app.signIn(SignInBody().code("CODE-store")))
        }
        return answers
    }

    @Test("in the log of any flow")
    func log() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(registration: rules)
        let answers = try await allFlows(app)
        let text = app.log.text
        #expect(app.log.lines.count > 20)
        for word in Self.secrets + Self.personal + [TestApp.apiKey] { #expect(!text.contains(word), "\(word)") }
        for name in ["token", "refresh_token", "state_key"] {
            for secret in answers.compactMap({ $0.text(name) }) { #expect(!text.contains(secret)) }
        }
    }

    @Test("in the response of any flow")
    func answers() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(registration: rules)
        for answer in try await allFlows(app) {
            for word in Self.secrets { #expect(!answer.body.contains(word), "\(answer.body)") }
            guard answer.error != nil, answer.error != "user_not_registered" else { continue }
            for word in Self.personal { #expect(!answer.body.contains(word), "\(answer.body)") }
        }
    }

    @Test("in the text of any error")
    func errorTexts() {
        // A reason is a text of ours, and may be shown; what is no error code of the carrier must not be.
        let carrierErrors: [String?] = [
            nil, "invalid_grant", "server_error", "invalid_request", "SUBJECT- of an error", "<SUBJECT->",
        ]
        for code in OIDCError.Code.allCases {
            for carrierError in carrierErrors {
                for posted in [true, false] {
                    let error = SignInError(
                        OIDCError(code, carrierError: carrierError, reason: "A fact."), codeWasPosted: posted)
                    #expect(!error.description.contains("SUBJECT-"))
                    #expect(error.description.hasSuffix("."))
                    #expect(error.description.contains(" "))
                }
            }
        }
    }
}
