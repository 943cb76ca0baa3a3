import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Failures of each step of a transaction, and its log line.
@Suite("A transaction")
struct TransactionTests {
    private static let body = SignInBody().code("CODE-t").with("acr_values", "\"a3\"").with("context", "\"CONTEXT-1\"")

    /// A Latchkey with a signed-in user, and a carrier that confirms the context.
    private func signedIn(
        client change: (inout SignInConfiguration.Client) -> Void = { _ in }
    ) async throws -> (app: TestApp, token: String) {
        let app = try TestApp(client: change)
        let token = try await app.token()
        app.carrier.script { $0.claims = Self.claims(at: app.clock.now) }
        return (app, token)
    }

    private static func claims(at now: Timestamp) -> [String: String?] {
        ["context": "\"CONTEXT-1\"", "auth_time": "\(now.secondsSinceEpoch)"]
    }

    private func authorize(_ app: TestApp, _ token: String, _ body: SignInBody = body) async throws -> Answer {
        try await app.send(
            .post, "/auth/zenkey/authorize", [.authorization: "Bearer \(token)", .contentType: "application/json"],
            body: body.json)
    }

    @Test("may be retried only if its code did not reach the carrier")
    func sentAgain() async throws {
        let (app, token) = try await signedIn()
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in
                throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "")
            }
        }
        #expect(try await authorize(app, token).status == 502)
        app.carrier.script { $0.token = nil }
        #expect(try await authorize(app, token).status == 200)
        #expect(try await authorize(app, token).error == "invalid_grant")
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in
                throw OutboundError(.unreachable, mayHaveBeenSent: true, reason: "")
            }
        }
        let other = Self.body.code("CODE-u")
        #expect(try await authorize(app, token, other).status == 502)
        app.carrier.script { $0.token = nil }
        #expect(try await authorize(app, token, other).error == "invalid_grant")
        // One for the sign-in, two for the first code, one for the second.
        #expect(app.carrier.tokenPosts == 4)
    }

    @Test("takes an issued nonce once, and does not spend it if the carrier is down")
    func issuedNonce() async throws {
        let app = try TestApp(client: { $0.nonce = .issued })
        func nonce() async throws -> String {
            let nonce = try #require(try await app.post("/auth/zenkey/attempts", "{}").text("nonce"))
            app.carrier.script { $0.nonce = nonce }
            return "\"\(nonce)\""
        }
        let token = try await app.token(SignInBody().with("nonce", try await nonce()))
        app.carrier.script { $0.claims = Self.claims(at: app.clock.now) }
        let body = Self.body.with("nonce", try await nonce())
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in
                throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "")
            }
        }
        #expect(try await authorize(app, token, body).status == 502)
        app.carrier.script { $0.token = nil }
        #expect(try await authorize(app, token, body).status == 200)
        let again = try await authorize(app, token, body.code("CODE-w"))
        #expect(again.status == 400)
        #expect(again.description.hasPrefix("nonce"))
    }

    @Test("is refused before its code is posted if the store is unavailable")
    func storeDown() async throws {
        let (app, token) = try await signedIn()
        app.storeScript.fail(with: StorageError(.unavailable, reason: ""))
        let answer = try await authorize(app, token)
        #expect(answer.status == 503)
        #expect(answer.error == "temporarily_unavailable")
        #expect(app.carrier.tokenPosts == 1)
        app.storeScript.fail(with: nil)
        #expect(try await authorize(app, token).status == 200)
    }

    @Test("has spent its code if the receipt cannot be recorded, and the error says so")
    func storeGoesDown() async throws {
        let (app, token) = try await signedIn()
        let tokens = app.carrier.tokens()
        app.carrier.script { script in
            script.token = { _ throws(OutboundError) in
                app.storeScript.fail(with: StorageError(.full, reason: ""))
                return tokens
            }
        }
        let answer = try await authorize(app, token)
        #expect(answer.status == 503)
        #expect(answer.headers[.retryAfter] == "5")
        #expect(answer.description.contains("the code is spent"))
        app.storeScript.fail(with: nil)
        #expect(try await app.me(token).status == 200)
    }

    @Test("is refused if its session ends during the request to the carrier")
    func sessionEnds() async throws {
        let (app, token) = try await signedIn()
        let tokens = app.carrier.tokens()
        app.carrier.script { script in
            script.token = { _ throws(OutboundError) in
                _ = try? await app.asUser(.delete, "/auth/token", token)
                return tokens
            }
        }
        let answer = try await authorize(app, token)
        #expect(answer.status == 401)
        #expect(answer.error == "invalid_token")
    }

    @Test("writes a log line without personal data or secrets")
    func logged() async throws {
        let (app, token) = try await signedIn()
        let receipt = try #require(try await authorize(app, token).text("receipt"))
        app.carrier.script { $0.subject = "SUBJECT-of-ravi" }
        #expect(try await authorize(app, token, Self.body.code("CODE-v")).status == 401)
        _ = try await app.post("/auth/receipts/redeem", #"{"receipt":"\#(receipt)"}"#)
        _ = try await app.post("/auth/receipts/redeem", #"{"receipt":"\#(receipt)"}"#)
        let lines = app.log.lines.filter { $0.message.hasPrefix("transaction") || $0.message.hasPrefix("receipt") }
        #expect(
            lines.map(\.message) == ["transaction", "transaction refused", "receipt redeemed", "receipt refused"])
        #expect(lines[0].metadata["outcome"] == "authorized")
        #expect(lines[1].metadata["check"] == "same_user")
        #expect(lines[0].metadata["correlation_id"] == "corr-1")
        for text in [receipt, token, "CONTEXT-1", "CODE-", "SUBJECT-", "NONCE-", "VERIFIER-"] {
            #expect(!app.log.text.contains(text), "\(text)")
        }
    }

    @Test("needs neither client_id nor redirect_uri where there is one of each")
    func defaults() async throws {
        let (app, token) = try await signedIn { $0.redirectURIs = ["https://app.example/cb"] }
        let body = Self.body.with("client_id", nil).with("redirect_uri", nil)
        #expect(try await authorize(app, token, body).status == 200)
    }

    @Test("names all missing fields at once")
    func allProblems() async throws {
        let app = try TestApp(otherClients: ["client-2"])
        let token = try await app.token()
        let answer = try await app.send(
            .post, "/auth/zenkey/authorize", [.authorization: "Bearer \(token)", .contentType: "application/json"],
            body: "{}")
        #expect(answer.status == 400)
        for name in ["client_id", "code", "redirect_uri", "mccmnc", "context", "acr_values"] {
            #expect(answer.description.contains("\(name) is missing"), "\(answer.description)")
        }
    }
}
