import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The approval of a transaction (contract section 8), over real sockets and against simulated carriers.
@Suite(.serialized) struct TransactionTests {
    @Test("A user approves a transaction, and the receipt proves it to whoever has the published keys")
    func approved() async throws {
        let clock = ManualClock()
        let publicURL = EndpointURL("https://login.example.com", policy: .httpsOnly)
        try await Stage.with(clock: clock.wallClock, configure: { $0.publicURL = publicURL }) { stage in
            let token = try #require(try await stage.session())
            var fields = try stage.transaction()
            fields["correlation_id"] = "transfer-1"
            clock.advance(bySeconds: 7)
            let answer = try await stage.app.authorize(fields, token)
            let now = clock.now.secondsSinceEpoch
            #expect(answer.status == 200)
            #expect(answer.json["authorized"]?.bool == true)
            #expect(answer.json["context"]?.string == Stage.context)
            #expect(answer.json["acr"]?.string == "a3")
            #expect(answer.json["auth_time"]?.integer == now - 7)
            #expect(answer.json["expires_in"]?.integer == 300)
            #expect(answer.json["correlation_id"]?.string == "transfer-1")
            #expect(answer.response["cache-control"] == "no-store")
            #expect(answer.token == nil)

            let receipt = try #require(answer.json["receipt"]?.string)
            let claims = try await stage.app.receiptReader().claims(of: receipt)
            #expect(claims["iss"] as? String == "https://login.example.com")
            let publicID = try await stage.app.me(token).json["zenkey_sub"]?.string
            #expect(publicID != nil)
            #expect(claims["sub"] as? String == publicID)
            #expect(claims["aud"] as? String == Stage.clientID)
            #expect(claims["context"] as? String == Stage.context)
            #expect(claims["acr"] as? String == "a3")
            #expect(claims["auth_time"] as? Int == Int(now - 7))
            #expect(claims["iat"] as? Int == Int(now))
            #expect(claims["exp"] as? Int == Int(now + 300))
            #expect((claims["jti"] as? String)?.utf8.count == 22)
        }
    }

    @Test("Whatever is wrong with a transaction is told, and the session stays", arguments: TransactionRefusal.all)
    func refused(row: TransactionRefusal) async throws {
        try await Stage.with(configure: { if row.status == 504 { $0.outbound.limits.tokenTimeout = .seconds(1) } }) {
            stage in
            let token = try #require(try await stage.session())
            let request = try await row.prepare(stage, token)
            let postsBefore = stage.simulator.log.tokenPosts(Stage.mccmnc)
            stage.simulator.setFaults(row.faults, for: Stage.mccmnc)
            let answer = try await stage.app.authorize(request.fields, request.token)
            #expect(answer.status == row.status)
            #expect(answer.error == row.error)
            #expect(answer.json["error_type"]?.string == row.type)
            let text = answer.json["error_description"]?.string ?? ""
            #expect(text.contains(row.says), "\(text)")
            #expect(answer.json["authorized"] == nil && answer.json["receipt"] == nil)
            #expect(stage.simulator.log.tokenPosts(Stage.mccmnc) - postsBefore == row.tokenPosts)
            #expect((answer.response["www-authenticate"] != nil) == (row.status == 401))
            for secret in ["code", "code_verifier", "context"] {
                if let value = request.fields[secret], value.utf8.count > 20 {
                    #expect(!answer.response.text.contains(value))
                }
            }

            // No refusal ends the user's session, and the next transaction goes through.
            stage.simulator.setFaults([], for: Stage.mccmnc)
            let still = row.sessionEnds ? try #require(try await stage.session()) : token
            #expect(try await stage.app.me(still).status == 200)
            #expect(try await stage.app.authorize(try stage.transaction(), still).status == 200)
        }
    }

    @Test("An API key that is for one client takes no code of another's, and leaves it alone")
    func otherClient() async throws {
        try await Stage.with(
            configure: { configuration in
                var scoped = APIKey.plain(Secret("key-for-this"))
                scoped.clients = [Stage.clientID].compactMap(ClientID.init)
                configuration.apiKeys.append(scoped)
            }
        ) { stage in
            let token = try #require(try await stage.session())
            var app = stage.app
            app.apiKey = "key-for-this"
            let posts = stage.simulator.log.tokenPosts(Stage.mccmnc)
            let fields = try stage.transaction()
            let answer = try await app.authorize(fields.merging(["client_id": Stage.otherClientID]) { $1 }, token)
            #expect(answer.status == 403)
            #expect(answer.error == "unauthorized_client")
            #expect(stage.simulator.log.tokenPosts(Stage.mccmnc) == posts)
            #expect(try await app.authorize(fields, token).status == 200)
        }
    }

    @Test("A session that has expired authorizes nothing, and its code is left alone")
    func expiredSession() async throws {
        let clock = ManualClock()
        try await Stage.with(clock: clock.wallClock) { stage in
            let token = try #require(try await stage.session())
            clock.advance(bySeconds: 3599)
            #expect(try await stage.app.authorize(try stage.transaction(), token).status == 200)
            let fields = try stage.transaction()
            clock.advance(bySeconds: 1)
            let answer = try await stage.app.authorize(fields, token)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_token")
            #expect(stage.simulator.log.tokenPosts(Stage.mccmnc) == 2)
            // The user signs in again and goes on with the very same code.
            let next = try #require(try await stage.session())
            #expect(try await stage.app.authorize(fields, next).status == 200)
        }
    }

    @Test("An authentication may be as old as the configuration says and the clocks are apart", arguments: [0, 1])
    func authenticationAge(excess: Int64) async throws {
        let clock = ManualClock()
        let configure: (inout Configuration) -> Void = {
            $0.transactions.maximumAuthenticationAge = 90
            $0.idToken.clockSkewSeconds = 30
        }
        try await Stage.with(clock: clock.wallClock, configure: configure) { stage in
            let token = try #require(try await stage.session())
            let fields = try stage.transaction()
            clock.advance(bySeconds: 120 + excess)
            let answer = try await stage.app.authorize(fields, token)
            #expect(answer.status == (excess == 0 ? 200 : 401))
            let text = answer.json["error_description"]?.string ?? "(auth_time)"
            #expect(text.contains("(auth_time)"))
        }
    }

    @Test("Two requests with one code at once: one is authorized, and the code is posted once")
    func atOnce() async throws {
        try await Stage.with { stage in
            let token = try #require(try await stage.session())
            let fields = try stage.transaction()
            async let first = stage.app.authorize(fields, token)
            async let second = stage.app.authorize(fields, token)
            let answers = [try await first, try await second]
            #expect(answers.map(\.status).sorted() == [200, 401])
            #expect(Set(answers.map(\.error)) == [nil, "invalid_grant"])
            #expect(stage.simulator.log.tokenPosts(Stage.mccmnc) == 2)
        }
    }

    @Test("A code makes one receipt, even where a carrier takes it twice and another process is asked")
    func carelessCarrier() async throws {
        try await Stage.with { stage in
            stage.simulator.setFaults([.tokenReusableCode], for: Stage.mccmnc)
            let token = try #require(try await stage.session())
            let fields = try stage.transaction()
            #expect(try await stage.app.authorize(fields, token).status == 200)
            try await stage.withCopy { copy, _ in
                let again = try await copy.authorize(fields, token)
                #expect(again.status == 401)
                #expect(again.error == "invalid_grant")
                #expect(stage.simulator.log.tokenPosts(Stage.mccmnc) == 3)
            }
        }
    }

    @Test("Somebody whom nobody knows here is not made a user by a transaction")
    func noNewUser() async throws {
        try await Stage.with { stage in
            let token = try #require(try await stage.session())
            #expect(try await stage.app.authorize(try stage.transaction(user: "ravi"), token).status == 401)
            let signIn = try await stage.app.signIn(try stage.authorizedResponse(user: "ravi"))
            #expect(signIn.json["new_user"]?.bool == true)
        }
    }
}

/// A transaction that must not be authorized, and what is answered to it.
struct TransactionRefusal: Sendable, CustomTestStringConvertible {
    typealias Request = (fields: [String: String], token: String?)

    let testDescription: String
    let status: Int
    let error: String
    let type: String
    let says: String
    /// How often the request itself has the code posted.
    let tokenPosts: Int
    var faults: Set<CarrierSimulator.Fault> = []
    var sessionEnds = false
    var prepare: @Sendable (Stage, String) async throws -> Request = { stage, token in
        (try stage.transaction(), token)
    }

    private static func idToken(_ check: String, _ faults: CarrierSimulator.Fault...) -> Self {
        Self(
            testDescription: faults.map(\.rawValue).joined(), status: 401, error: "invalid_id_token",
            type: "unknownError", says: "(\(check))", tokenPosts: 1, faults: Set(faults))
    }

    private static func idToken(
        _ name: String, _ check: String, _ prepare: @escaping @Sendable (Stage, String) async throws -> Request
    ) -> Self {
        Self(
            testDescription: name, status: 401, error: "invalid_id_token", type: "unknownError", says: "(\(check))",
            tokenPosts: 1, prepare: prepare)
    }

    private static func code(
        _ name: String, tokenPosts: Int,
        _ prepare: @escaping @Sendable (Stage, String) async throws -> Request
    ) -> Self {
        Self(
            testDescription: name, status: 401, error: "invalid_grant", type: "requestDenied", says: "code",
            tokenPosts: tokenPosts, prepare: prepare)
    }

    private static func session(
        _ name: String, ends: Bool = false, _ token: @escaping @Sendable (Stage, String) async throws -> String?
    ) -> Self {
        Self(
            testDescription: name, status: 401, error: "invalid_token", type: "invalidRequest", says: "session token",
            tokenPosts: 0, sessionEnds: ends
        ) { stage, session in (try stage.transaction(), try await token(stage, session)) }
    }

    private static func field(_ name: String, _ field: String, _ value: String?) -> Self {
        Self(
            testDescription: name, status: 400, error: "invalid_request", type: "invalidRequest", says: field,
            tokenPosts: 0
        ) { stage, token in
            var fields = try stage.transaction()
            fields[field] = value
            return (fields, token)
        }
    }

    private static func carrier(
        _ fault: CarrierSimulator.Fault, _ status: Int, _ error: String, _ type: String, tokenPosts: Int
    ) -> Self {
        Self(
            testDescription: fault.rawValue, status: status, error: error, type: type, says: "",
            tokenPosts: tokenPosts, faults: [fault])
    }

    static let all: [Self] = sessions + fields + codes + idTokens + carriers

    private static let sessions: [Self] = [
        session("no session") { _, _ in nil },
        session("a token that is none") { _, _ in RandomSource.system.token() },
        session("a session that was signed out", ends: true) { stage, token in
            _ = try await stage.app.signOut(token)
            return token
        },
    ]

    private static let fields: [Self] = [
        field("no context", "context", nil), field("an empty context", "context", ""),
        field("a context of 281 characters", "context", String(repeating: "c", count: 281)),
        field("no acr_values", "acr_values", nil), field("blank acr_values", "acr_values", " "),
        field("no code", "code", nil), field("no verifier", "code_verifier", nil),
        field("a client that is none", "client_id", "nobody"),
        field("a redirect URI that is not registered", "redirect_uri", "https://app.example/other"),
    ]

    private static let codes: [Self] = [
        code("a code that was used for a transaction", tokenPosts: 0) { stage, token in
            let fields = try stage.transaction()
            #expect(try await stage.app.authorize(fields, token).status == 200)
            return (fields, token)
        },
        code("a code that was used for a sign-in", tokenPosts: 1) { stage, token in
            let fields = try stage.transaction()
            #expect(try await stage.app.signIn(fields).status == 200)
            return (fields, token)
        },
        code("a code that was refused before", tokenPosts: 0) { stage, token in
            let fields = try stage.transaction(user: "ravi")
            #expect(try await stage.app.authorize(fields, token).status == 401)
            return (fields, token)
        },
        code("a code that nobody gave", tokenPosts: 1) { stage, token in
            var fields = try stage.transaction()
            fields["code"] = RandomSource.system.token()
            return (fields, token)
        },
        code("a wrong verifier", tokenPosts: 1) { stage, token in
            var fields = try stage.transaction()
            fields["code_verifier"] = RandomSource.system.token()
            return (fields, token)
        },
    ]

    private static let idTokens: [Self] = [
        idToken("another user's code", "same_user") { stage, token in
            _ = try await stage.session(user: "ravi")
            return (try stage.transaction(user: "ravi"), token)
        },
        idToken("the code of somebody unknown", "same_user") { stage, token in
            (try stage.transaction(user: "ravi"), token)
        },
        idToken("another context than the user saw", "context") { stage, token in
            var fields = try stage.transaction(context: "Pay $2,000")
            fields["context"] = "Pay $2"
            return (fields, token)
        },
        idToken("a sign-in without a context", "context") { stage, token in
            var fields = try stage.transaction(context: nil)
            fields["context"] = "Pay $2"
            return (fields, token)
        },
        idToken("a weaker acr than is asked for", "acr") { stage, token in
            var fields = try stage.transaction(acr: "a1")
            fields["acr_values"] = "a3"
            return (fields, token)
        },
        idToken("context", .idTokenOtherContext), idToken("context", .idTokenMissingContext),
        idToken("acr", .idTokenWrongACR), idToken("acr", .idTokenMissingACR),
        idToken("auth_time", .idTokenOldAuthentication), idToken("auth_time", .idTokenFutureAuthentication),
        idToken("auth_time", .idTokenMissingAuthenticationTime), idToken("nonce", .idTokenWrongNonce),
        idToken("audience", .idTokenOtherAudience), idToken("signature", .idTokenBadSignature),
        idToken("issued_at", .idTokenOld),
    ]

    private static let carriers: [Self] = [
        carrier(.tokenInvalidGrant, 401, "invalid_grant", "requestDenied", tokenPosts: 1),
        carrier(.token500, 502, "carrier_error", "serverError", tokenPosts: 1),
        carrier(.tokenTemporarilyUnavailable, 502, "carrier_error", "serverError", tokenPosts: 1),
        carrier(.tokenInvalidClient, 502, "carrier_error", "configurationError", tokenPosts: 1),
        carrier(.tokenSlow, 504, "carrier_timeout", "requestTimeout", tokenPosts: 1),
    ]
}
