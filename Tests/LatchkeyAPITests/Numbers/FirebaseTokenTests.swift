import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

/// Attacks with tokens of Firebase Phone Number Verification.
@Suite("Tokens of Firebase that are refused")
struct FirebaseTokenTests {
    /// A token that is refused, with the check that refuses it.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let check: IDTokenCheck
        let make: @Sendable (FakeFirebase) throws -> String

        /// With other claims.
        init(_ description: String, _ check: IDTokenCheck, _ changes: [String: String?]) {
            self.init(description, check) { try $0.token(FakeFirebase.number, changes) }
        }

        /// With other claims that depend on the time.
        init(_ description: String, _ check: IDTokenCheck, at changes: @escaping @Sendable (Int64) -> [String: String?])
        {
            self.init(description, check) {
                try $0.token(FakeFirebase.number, changes($0.clock.now.secondsSinceEpoch))
            }
        }

        init(
            _ description: String, _ check: IDTokenCheck,
            _ make: @escaping @Sendable (FakeFirebase) throws -> String
        ) { (testDescription, self.check, self.make) = (description, check, make) }
    }

    private static let others = (
        number: FakeFirebase.host + "/projects/999999999999", id: FakeFirebase.host + "/projects/shop-2"
    )

    private static func audiences(_ names: String...) -> [String: String?] {
        ["aud": "[\(names.map { "\"\($0)\"" }.joined(separator: ","))]"]
    }

    private static func unsigned(_ firebase: FakeFirebase, algorithm: String, signature: [UInt8]) -> String {
        TokenText.compact(
            header: #"{"alg":"\#(algorithm)","typ":"JWT","kid":"fpnv-1"}"#, payload: firebase.claims()
        ) { _ in signature }
    }

    static let rows: [Row] = [
        Row("another project", .audience, audiences(others.number, others.id)),
        Row("another project by its number alone", .audience, audiences(others.number, FakeFirebase.byID)),
        Row("another project by its id alone", .audience, audiences(FakeFirebase.issuer, others.id)),
        Row("no id", .audience, audiences(FakeFirebase.issuer)),
        Row("no id, as a text", .audience, ["aud": "\"\(FakeFirebase.issuer)\""]),
        Row("no number", .audience, audiences(FakeFirebase.byID)),
        Row("a third audience", .audience, audiences(FakeFirebase.issuer, FakeFirebase.byID, others.id)),
        Row("an audience that is no text", .audience) { _ in
            ["aud": #"["\#(FakeFirebase.issuer)","\#(FakeFirebase.byID)",7]"#]
        },
        Row("no audience", .audience, ["aud": nil]),
        Row("the issuer of another project", .issuer, ["iss": "\"\(others.number)\""]),
        Row("no issuer", .issuer, ["iss": nil]),
        Row("expired", .expiry) { ["iat": "\($0 - 120)", "exp": "\($0 - 60)"] },
        Row("no end", .expiry, ["exp": nil]),
        Row("issued eleven minutes ago", .issuedAt) { ["iat": "\($0 - 661)"] },
        Row("issued in the future", .issuedAt) { ["iat": "\($0 + 61)"] },
        Row("not valid yet", .notBefore) { ["nbf": "\($0 + 61)"] },
        Row("alg none without a signature", .format) { unsigned($0, algorithm: "none", signature: []) },
        Row("alg none with a signature", .algorithm) { unsigned($0, algorithm: "none", signature: [1]) },
        Row("signed with a shared secret", .algorithm) { unsigned($0, algorithm: "HS256", signature: [1]) },
        Row("another algorithm", .algorithm) { unsigned($0, algorithm: "RS256", signature: [1]) },
        Row("a foreign key of the same id", .signature) {
            try TestSigningKey(keyID: $0.key.keyID).token(claims: $0.claims())
        },
        Row("a foreign key", .key) { try TestSigningKey(keyID: "stranger").token(claims: $0.claims()) },
        Row("another kind of token", .type) { try $0.key.token(claims: $0.claims(), type: "logout+jwt") },
        Row("a logout token", .idTokenClaims, ["events": "{}"]),
        Row("a subject without +", .subject, ["sub": "\"14155550101\""]),
        Row("a subject with separators", .subject, ["sub": "\"+1-415-555-0101\""]),
        Row("a subject that is a name", .subject, ["sub": "\"jane\""]),
        Row("a number that begins with 0", .subject, ["sub": "\"+0415555010\""]),
        Row("a number that is too long", .subject, ["sub": "\"+1415555010123456\""]),
        Row("no subject", .subject, ["sub": nil]),
    ]

    @Test("Nobody is signed in, no number is verified, and no way to sign in is added", arguments: rows)
    func refused(_ row: Row) async throws {
        var rules = NumberSignInRules()
        (rules.registersUnknown, rules.signsInKnown) = (true, true)
        let app = try NumberApp(firebaseRules: rules)
        let session = try await PhoneVerificationWalk.session(app)
        let before = try await app.me(session)
        let token = try row.make(app.firebase)
        for answer in [
            try await app.signIn(withFirebase: token), try await app.verify(session, withFirebase: token),
            try await app.link(session, withFirebase: token),
        ] {
            #expect(answer.status == 401 && answer.error == "invalid_id_token", "\(answer.body)")
            #expect(answer.description.contains("(\(row.check.rawValue))"), "\(answer.body)")
            #expect(answer.text("token") == nil)
        }
        #expect(try await app.me(session)["phone_number"] == before["phone_number"])
        // The project's own tokens are accepted all the same.
        #expect(try await app.signIn(withFirebase: try app.firebase.token()).status == 200)
        #expect(!app.log.text.contains("4155550101"))
    }

    @Test(
        "A nonce that is sent must be in the token, and one in the token must be sent",
        arguments: [nil, "\"another\"", "7", "\"N-1\""] as [String?])
    func nonce(_ claim: String?) async throws {
        var rules = NumberSignInRules()
        rules.registersUnknown = true
        let app = try NumberApp(firebaseRules: rules)
        let session = try await PhoneVerificationWalk.session(app)
        func token() throws -> String { try app.firebase.token(FakeFirebase.number, ["nonce": claim]) }
        let answers = [
            try await app.signIn(withFirebase: try token(), #","nonce":"N-1""#),
            try await app.verify(session, withFirebase: try token(), #","nonce":"N-1","phone_number":"+14155550101""#),
        ]
        for answer in answers {
            #expect(answer.status == (claim == "\"N-1\"" ? 200 : 401), "\(answer.body)")
            #expect(claim == "\"N-1\"" || answer.description.contains("(nonce)"), "\(answer.body)")
        }
        // Who found the token need not know the nonce that it was asked for with.
        let other = try app.firebase.token("+14155550102", ["nonce": claim])
        guard claim != nil else {
            return #expect(try await app.signIn(withFirebase: other).status == 200)
        }
        for answer in [
            try await app.signIn(withFirebase: other), try await app.link(session, withFirebase: other),
            try await app.verify(session, withFirebase: other, #","phone_number":"+14155550102""#),
        ] {
            #expect(answer.status == 401 && answer.description.contains("(nonce)"), "\(answer.body)")
        }
    }

    @Test("Where the nonce must be an issued one, a token works with it alone, and the nonce works once")
    func issuedNonce() async throws {
        var rules = NumberSignInRules()
        rules.registersUnknown = true
        let app = try NumberApp(firebaseRules: rules, firebaseNonce: .issued)
        let session = try await PhoneVerificationWalk.session(app)
        func issued() async throws -> String {
            try #require(try await app.send(.post, "/auth/phone/attempts").text("nonce"))
        }
        func token(_ nonce: String) throws -> String {
            try app.firebase.token(FakeFirebase.number, ["nonce": "\"\(nonce)\""])
        }
        for isVerification in [false, true] {
            func send(_ token: String, _ nonce: String?) async throws -> Answer {
                let members = nonce.map { #","nonce":"\#($0)""# } ?? ""
                guard isVerification else { return try await app.signIn(withFirebase: token, members) }
                let asked = #","phone_number":"\#(FakeFirebase.number)""#
                return try await app.verify(session, withFirebase: token, members + asked)
            }
            let nonce = try await issued()
            #expect(try await send(try token(nonce), nil).description.contains("nonce is missing"))
            #expect(try await send(try token("own"), "own").description.contains("nonce was not issued"))
            #expect(try await send(try token("own"), nonce).error == "invalid_id_token")
            #expect(try await send(try token(nonce), nonce).status == 200)
            #expect(try await send(try token(nonce), nonce).description.contains("nonce was not issued"))
        }
    }

    @Test("Where the app makes the nonce, a request must have it")
    func ownNonce() async throws {
        var rules = NumberSignInRules()
        rules.registersUnknown = true
        let app = try NumberApp(firebaseRules: rules, firebaseNonce: .client)
        let token = try app.firebase.token(FakeFirebase.number, ["nonce": #""N-1""#])
        #expect(try await app.signIn(withFirebase: token).description.contains("nonce is missing"))
        #expect(try await app.signIn(withFirebase: token, #","nonce":"N-1""#).status == 200)
    }

    @Test("A number of no account spends no nonce, so that the same token can add it")
    func nonceOfRefused() async throws {
        let app = try NumberApp(firebaseNonce: .issued)
        let nonce = try #require(try await app.send(.post, "/auth/phone/attempts").text("nonce"))
        let token = try app.firebase.token(FakeFirebase.number, ["nonce": "\"\(nonce)\""])
        let members = #","nonce":"\#(nonce)""#
        #expect(try await app.signIn(withFirebase: token, members).error == "request_denied")
        let session = try await PhoneVerificationWalk.session(app)
        let linked = try await app.send(
            .post, "/users/me/identities", [.authorization: "Bearer \(session)"],
            body: #"{"provider":"phone","token":"\#(token)"\#(members)}"#)
        #expect(linked.status == 201, "\(linked.body)")
    }

    /// What a token was used for.
    enum Use: String, CaseIterable, Sendable { case signIn, verification, mismatch, link }

    @Test(
        "A token works once, whatever for, also at another server and with another signature", arguments: Use.allCases)
    func usedOnce(_ use: Use) async throws {
        var rules = NumberSignInRules()
        (rules.registersUnknown, rules.signsInKnown) = (true, true)
        let app = try NumberApp(firebaseRules: rules)
        let other = try NumberApp(beside: app, firebaseRules: rules)
        let session = try await PhoneVerificationWalk.session(app)
        let claims = app.firebase.claims()
        let (token, again) = (try app.firebase.key.token(claims: claims), try app.firebase.key.token(claims: claims))
        #expect(token != again, "another signature of the same")
        let first =
            switch use {
            case .signIn: try await app.signIn(withFirebase: token)
            case .verification: try await app.verify(session, withFirebase: token, #","phone_number":"+14155550101""#)
            case .mismatch: try await app.verify(session, withFirebase: token)
            case .link: try await app.link(session, withFirebase: token)
            }
        #expect(first.status == (use == .link ? 201 : 200), "\(first.body)")
        for (server, text) in [(app, token), (app, again), (other, token), (other, again)] {
            for answer in [
                try await server.signIn(withFirebase: text), try await server.verify(session, withFirebase: text),
                try await server.link(session, withFirebase: text),
            ] {
                #expect(answer.status == 401 && answer.error == "invalid_grant", "\(answer.body)")
            }
        }
        #expect(try await other.signIn(withFirebase: try app.firebase.token()).status == 200)
    }

    @Test("A used token is known for as long as it would be accepted, by a clock that is behind the issuer's")
    func remembered() async throws {
        var rules = NumberSignInRules()
        rules.registersUnknown = true
        let app = try NumberApp(firebaseRules: rules)
        let now = app.clock.now.secondsSinceEpoch
        let token = try app.firebase.token(FakeFirebase.number, ["iat": "\(now + 60)", "exp": "\(now + 3660)"])
        #expect(try await app.signIn(withFirebase: token).status == 200)
        app.clock.advance(bySeconds: 720)
        _ = try await app.testStore.store.purgeExpired(at: app.clock.now, limit: 1000)
        #expect(try await app.signIn(withFirebase: token).error == "invalid_grant")
        // The answer to the request before is not known any more either.
        app.clock.advance(bySeconds: 61)
        let late = try await app.signIn(withFirebase: token)
        #expect(late.error == "invalid_id_token", "\(late.body)")
    }
}
