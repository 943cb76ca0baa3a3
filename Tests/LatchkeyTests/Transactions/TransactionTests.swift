import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing
import Transactions

/// The approval of a transaction, over real sockets and against simulated carriers.
@Suite(.serialized) struct TransactionTests {
    @Test("A user approves a transaction, and the receipt proves it to a reader of the published keys")
    func approved() async throws {
        let clock = ManualClock()
        let publicURL = EndpointURL("https://login.example.com/", policy: .httpsOnly)
        try await SignInHarness.with(clock: clock.wallClock, configure: { $0.publicURL = publicURL }) { harness in
            let token = try #require(try await harness.session())
            var fields = try harness.transaction()
            fields["correlation_id"] = "transfer-1"
            clock.advance(bySeconds: 7)
            let answer = try await harness.app.authorize(fields, token)
            let now = clock.now.secondsSinceEpoch
            #expect(answer.status == 200)
            #expect(answer.json["authorized"]?.bool == true)
            #expect(answer.json["context"]?.string == SignInHarness.context)
            #expect(answer.json["acr"]?.string == "a3")
            #expect(answer.json["auth_time"]?.integer == now - 7)
            #expect(answer.json["expires_in"]?.integer == 300)
            #expect(answer.json["correlation_id"]?.string == "transfer-1")
            #expect(answer.response["cache-control"] == "no-store")
            #expect(answer.token == nil)

            let receipt = try #require(answer.json["receipt"]?.string)
            let claims = try await harness.app.receiptReader().claims(of: receipt)
            #expect(claims["iss"] as? String == "https://login.example.com", "the slash is left out")
            let publicID = try await harness.app.me(token).json["zenkey_sub"]?.string
            #expect(publicID != nil)
            #expect(claims["sub"] as? String == publicID)
            #expect(claims["aud"] as? String == SignInHarness.clientID)
            #expect(claims["context"] as? String == SignInHarness.context)
            #expect(claims["acr"] as? String == "a3")
            #expect(claims["auth_time"] as? Int == Int(now - 7))
            #expect(claims["iat"] as? Int == Int(now))
            #expect(claims["exp"] as? Int == Int(now + 300))
            #expect((claims["jti"] as? String)?.utf8.count == 22)
        }
    }

    @Test("An error of a transaction is reported, and the session stays", arguments: TransactionRefusal.all)
    func refused(row: TransactionRefusal) async throws {
        try await SignInHarness.with(configure: {
            if row.status == 504 { $0.outbound.limits.tokenTimeout = OutboundLimits.shortTimeout }
        }) {
            harness in
            let token = try #require(try await harness.session())
            let request = try await row.prepare(harness, token)
            let postsBefore = harness.simulator.log.tokenPosts(SignInHarness.mccmnc)
            harness.simulator.setFaults(row.faults, for: SignInHarness.mccmnc)
            let answer = try await harness.app.authorize(request.fields, request.token)
            #expect(answer.status == row.status)
            #expect(answer.error == row.error)
            #expect(answer.json["error_type"]?.string == row.type)
            let text = answer.json["error_description"]?.string ?? ""
            #expect(text.contains(row.says), "\(text)")
            #expect(answer.json["authorized"] == nil && answer.json["receipt"] == nil)
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) - postsBefore == row.tokenPosts)
            #expect((answer.response["www-authenticate"] != nil) == (row.status == 401))
            for secret in ["code", "code_verifier", "context"] {
                if let value = request.fields[secret], value.utf8.count > 20 {
                    #expect(!answer.response.text.contains(value))
                }
            }

            // No refusal ends the session, and the next transaction succeeds.
            harness.simulator.setFaults([], for: SignInHarness.mccmnc)
            let still = row.sessionEnds ? try #require(try await harness.session()) : token
            #expect(try await harness.app.me(still).status == 200)
            #expect(try await harness.app.authorize(try harness.transaction(), still).status == 200)
        }
    }

    @Test("An API key of one client refuses another client's code and does not post it")
    func otherClient() async throws {
        try await SignInHarness.with(
            configure: { configuration in
                var scoped = APIKey.plain(Secret("key-for-this"))
                scoped.clients = [SignInHarness.clientID].compactMap(ClientID.init)
                configuration.apiKeys.append(scoped)
            }
        ) { harness in
            let token = try #require(try await harness.session())
            var app = harness.app
            app.apiKey = "key-for-this"
            let posts = harness.simulator.log.tokenPosts(SignInHarness.mccmnc)
            let fields = try harness.transaction()
            let answer = try await app.authorize(
                fields.merging(["client_id": SignInHarness.otherClientID]) { $1 }, token)
            #expect(answer.status == 403)
            #expect(answer.error == "unauthorized_client")
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == posts)
            #expect(try await app.authorize(fields, token).status == 200)
        }
    }

    @Test("An expired session authorizes nothing, and its code is not posted")
    func expiredSession() async throws {
        let clock = ManualClock()
        try await SignInHarness.with(clock: clock.wallClock) { harness in
            let token = try #require(try await harness.session())
            clock.advance(bySeconds: 3599)
            #expect(try await harness.app.authorize(try harness.transaction(), token).status == 200)
            let fields = try harness.transaction()
            clock.advance(bySeconds: 1)
            let answer = try await harness.app.authorize(fields, token)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_token")
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 2)
            // The user signs in again and continues with the same code.
            let next = try #require(try await harness.session())
            #expect(try await harness.app.authorize(fields, next).status == 200)
        }
    }

    @Test("An authentication may be as old as the configured limit plus the clock skew", arguments: [0, 1])
    func authenticationAge(excess: Int64) async throws {
        let clock = ManualClock()
        let configure: (inout Configuration) -> Void = {
            $0[TransactionSettings.self].maximumAuthenticationAge = 90
            $0.idToken.clockSkewSeconds = 30
        }
        try await SignInHarness.with(clock: clock.wallClock, configure: configure) { harness in
            let token = try #require(try await harness.session())
            let fields = try harness.transaction()
            clock.advance(bySeconds: 120 + excess)
            let answer = try await harness.app.authorize(fields, token)
            #expect(answer.status == (excess == 0 ? 200 : 401))
            let text = answer.json["error_description"]?.string ?? "(auth_time)"
            #expect(text.contains("(auth_time)"))
        }
    }

    @Test("Of two concurrent requests with one code, one is authorized, and the code is posted once")
    func atOnce() async throws {
        try await SignInHarness.with { harness in
            let token = try #require(try await harness.session())
            let fields = try harness.transaction()
            async let first = harness.app.authorize(fields, token)
            async let second = harness.app.authorize(fields, token)
            let answers = [try await first, try await second]
            #expect(answers.map(\.status).sorted() == [200, 401])
            #expect(Set(answers.map(\.error)) == [nil, "invalid_grant"])
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 2)
        }
    }

    @Test("A code yields one receipt, even if a carrier accepts it twice and in another process")
    func carelessCarrier() async throws {
        try await SignInHarness.with { harness in
            harness.simulator.setFaults([.tokenReusableCode], for: SignInHarness.mccmnc)
            let token = try #require(try await harness.session())
            let fields = try harness.transaction()
            #expect(try await harness.app.authorize(fields, token).status == 200)
            try await harness.withInstance { instance, _ in
                let again = try await instance.authorize(fields, token)
                #expect(again.status == 401)
                #expect(again.error == "invalid_grant")
                #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 3)
            }
        }
    }

    @Test("A transaction does not create a user")
    func noNewUser() async throws {
        try await SignInHarness.with { harness in
            let token = try #require(try await harness.session())
            #expect(try await harness.app.authorize(try harness.transaction(user: "ravi"), token).status == 401)
            let signIn = try await harness.app.signIn(try harness.authorizedResponse(user: "ravi"))
            #expect(signIn.json["new_user"]?.bool == true)
        }
    }
}

/// A transaction that must be refused, and the expected response.
struct TransactionRefusal: Sendable, CustomTestStringConvertible {
    typealias Request = (fields: [String: String], token: String?)

    let testDescription: String
    let status: Int
    let error: String
    let type: String
    let says: String
    /// How often the request posts the code.
    let tokenPosts: Int
    var faults: Set<CarrierSimulator.Fault> = []
    var sessionEnds = false
    var prepare: @Sendable (SignInHarness, String) async throws -> Request = { harness, token in
        (try harness.transaction(), token)
    }

    private static func idToken(_ check: String, _ faults: CarrierSimulator.Fault...) -> Self {
        Self(
            testDescription: faults.map(\.name).joined(), status: 401, error: "invalid_id_token",
            type: "unknownError", says: "(\(check))", tokenPosts: 1, faults: Set(faults))
    }

    private static func idToken(
        _ name: String, _ check: String, _ prepare: @escaping @Sendable (SignInHarness, String) async throws -> Request
    ) -> Self {
        Self(
            testDescription: name, status: 401, error: "invalid_id_token", type: "unknownError", says: "(\(check))",
            tokenPosts: 1, prepare: prepare)
    }

    private static func code(
        _ name: String, tokenPosts: Int,
        _ prepare: @escaping @Sendable (SignInHarness, String) async throws -> Request
    ) -> Self {
        Self(
            testDescription: name, status: 401, error: "invalid_grant", type: "requestDenied", says: "code",
            tokenPosts: tokenPosts, prepare: prepare)
    }

    private static func session(
        _ name: String, ends: Bool = false, type: String = "requestDenied",
        _ token: @escaping @Sendable (SignInHarness, String) async throws -> String?
    ) -> Self {
        Self(
            testDescription: name, status: 401, error: "invalid_token", type: type, says: "session token",
            tokenPosts: 0, sessionEnds: ends
        ) { harness, session in (try harness.transaction(), try await token(harness, session)) }
    }

    private static func field(_ name: String, _ field: String, _ value: String?) -> Self {
        Self(
            testDescription: name, status: 400, error: "invalid_request", type: "invalidRequest", says: field,
            tokenPosts: 0
        ) { harness, token in
            var fields = try harness.transaction()
            fields[field] = value
            return (fields, token)
        }
    }

    private static func carrier(
        _ fault: CarrierSimulator.Fault, _ status: Int, _ error: String, _ type: String, tokenPosts: Int
    ) -> Self {
        Self(
            testDescription: fault.name, status: status, error: error, type: type, says: "",
            tokenPosts: tokenPosts, faults: [fault])
    }

    static let all: [Self] = sessions + fields + codes + idTokens + carriers

    private static let sessions: [Self] = [
        session("no session", type: "invalidRequest") { _, _ in nil },
        session("a token that is none") { _, _ in RandomSource.system.token() },
        session("a session that was signed out", ends: true) { harness, token in
            _ = try await harness.app.signOut(token)
            return token
        },
    ]

    private static let fields: [Self] = [
        field("no context", "context", nil), field("an empty context", "context", ""),
        field("a context of 281 characters", "context", String(repeating: "c", count: 281)),
        field("no acr_values", "acr_values", nil), field("blank acr_values", "acr_values", " "),
        field("no code", "code", nil), field("no verifier", "code_verifier", nil),
        field("an invalid client", "client_id", "nobody"),
        field("a redirect URI that is not registered", "redirect_uri", "https://app.example/other"),
    ]

    private static let codes: [Self] = [
        code("a code that was used for a transaction", tokenPosts: 0) { harness, token in
            let fields = try harness.transaction()
            #expect(try await harness.app.authorize(fields, token).status == 200)
            return (fields, token)
        },
        code("a code that was used for a sign-in", tokenPosts: 1) { harness, token in
            let fields = try harness.transaction()
            #expect(try await harness.app.signIn(fields).status == 200)
            return (fields, token)
        },
        code("a code that was refused before", tokenPosts: 0) { harness, token in
            let fields = try harness.transaction(user: "ravi")
            #expect(try await harness.app.authorize(fields, token).status == 401)
            return (fields, token)
        },
        code("an unknown code", tokenPosts: 1) { harness, token in
            var fields = try harness.transaction()
            fields["code"] = RandomSource.system.token()
            return (fields, token)
        },
        code("a wrong verifier", tokenPosts: 1) { harness, token in
            var fields = try harness.transaction()
            fields["code_verifier"] = RandomSource.system.token()
            return (fields, token)
        },
    ]

    private static let idTokens: [Self] = [
        idToken("another user's code", "same_user") { harness, token in
            _ = try await harness.session(user: "ravi")
            return (try harness.transaction(user: "ravi"), token)
        },
        idToken("the code of an unknown user", "same_user") { harness, token in
            (try harness.transaction(user: "ravi"), token)
        },
        idToken("another context than the user saw", "context") { harness, token in
            var fields = try harness.transaction(context: "Pay $2,000")
            fields["context"] = "Pay $2"
            return (fields, token)
        },
        idToken("a sign-in without a context", "context") { harness, token in
            var fields = try harness.transaction(context: nil)
            fields["context"] = "Pay $2"
            return (fields, token)
        },
        idToken("a weaker acr than is asked for", "acr") { harness, token in
            var fields = try harness.transaction(acr: "a1")
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
