import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification

/// Whom a number of Firebase Phone Number Verification signs in: numbers are given to other people.
@Suite("Numbers of Firebase")
struct FirebaseNumberTests {
    private static func rules(registersUnknown: Bool = false, signsInKnown: Bool = false) -> NumberSignInRules {
        var rules = NumberSignInRules()
        (rules.registersUnknown, rules.signsInKnown) = (registersUnknown, signsInKnown)
        return rules
    }

    private func userID(_ app: NumberApp, _ answer: Answer) async throws -> Int64? {
        try await app.me(try #require(answer.text("token"), "\(answer.body)"))["user_id"]?.integer
    }

    private func userCount(_ app: NumberApp) async throws -> Int64 {
        try await app.testStore.store.reads.submit { db in try db.number("SELECT count(*) FROM users") }
    }

    @Test("A number that no account has registers its user only where that is allowed")
    func unknown() async throws {
        let app = try NumberApp(firebaseRules: Self.rules(signsInKnown: true))
        let token = try app.firebase.token()
        let refused = try await app.signIn(withFirebase: token)
        // Apps read 403 as the offer of a registration.
        #expect(refused.status == 401 && refused.error == "request_denied", "\(refused.body)")
        #expect(try await userCount(app) == 0)
        // The token was not used: with another way to sign in, it adds the number.
        let session = try await PhoneVerificationWalk.session(app)
        let user = try await app.me(session)["user_id"]?.integer
        #expect(try await app.link(session, withFirebase: token).status == 201)
        #expect(try await userID(app, try await app.signIn(withFirebase: try app.firebase.token())) == user)
    }

    @Test("Where numbers register, the first token makes a user with the number, and the next one signs in")
    func registered() async throws {
        let app = try NumberApp(firebaseRules: Self.rules(registersUnknown: true))
        let first = try await app.signIn(withFirebase: try app.firebase.token())
        #expect(first.status == 200 && first.json?["new_user"]?.bool == true, "\(first.body)")
        let me = try await app.me(try #require(first.text("token")))
        #expect(me["phone_number"]?.string == FakeFirebase.number)
        #expect(me["phone_number_verified"]?.bool == true)
        #expect(me["phone_number_verified_by"]?.string == FakeFirebase.issuer)
        let second = try await app.signIn(withFirebase: try app.firebase.token())
        #expect(second.json?["new_user"]?.bool == false, "\(second.body)")
        #expect(try await userID(app, second) == me["user_id"]?.integer)
        #expect(app.count(FakeFirebase.keysURL) == 1)
        #expect(!app.log.text.contains("4155550101"))
    }

    @Test("Where users must register, the number's user gets an offer, which uses the token up")
    func offered() async throws {
        let app = try NumberApp(
            firebaseRules: Self.rules(registersUnknown: true), registration: TestRegistration(isRequired: true))
        let token = try app.firebase.token()
        let offer = try await app.signIn(withFirebase: token)
        #expect(offer.status == 403 && offer.error == "user_not_registered", "\(offer.body)")
        let handle = try #require(offer.text("state_key"))
        #expect(try await app.signIn(withFirebase: token).error == "invalid_grant")
        let registered = try await app.send(.post, "/users", body: #"{"state_key":"\#(handle)","name":"Jane"}"#)
        #expect(registered.status == 201, "\(registered.body)")
        let me = try await app.me(try #require(registered.text("token")))
        #expect(me["phone_number"]?.string == FakeFirebase.number && me["phone_number_verified"]?.bool == true)
    }

    @Test(
        "A number that an account has verified elsewhere signs in to it only where that is allowed",
        arguments: [false, true])
    func known(_ isAllowed: Bool) async throws {
        let app = try NumberApp(firebaseRules: Self.rules(registersUnknown: true, signsInKnown: isAllowed))
        // The operator has verified the same number.
        let session = try await app.token()
        let user = try await app.me(session)["user_id"]?.integer
        let answer = try await app.signIn(withFirebase: try app.firebase.token())
        let events = try await app.testStore.store.auditEvents(AuditQuery(kind: .identityLinked))
        #expect(try await userCount(app) == 1)
        guard isAllowed else {
            #expect(answer.status == 409 && answer.error == "user_already_exists", "\(answer.body)")
            #expect(events.isEmpty)
            return
        }
        #expect(answer.json?["new_user"]?.bool == false, "\(answer.body)")
        #expect(try await userID(app, answer) == user)
        #expect(events.count == 1)
        // By now it is an identity of the account, whoever has verified the number.
        #expect(try await userID(app, try await app.signIn(withFirebase: try app.firebase.token())) == user)
    }

    @Test("A number that a user wrote down, and nobody verified, is no account's")
    func unverified() async throws {
        let app = try NumberApp(firebaseRules: Self.rules(signsInKnown: true))
        let session = try await PhoneVerificationWalk.session(app)
        let edit = try await app.send(
            .patch, "/users/me", [.authorization: "Bearer \(session)", .contentType: "application/json"],
            body: #"{"phone_number":"\#(FakeFirebase.number)"}"#)
        #expect(edit.status == 200, "\(edit.body)")
        #expect(try await app.signIn(withFirebase: try app.firebase.token()).error == "request_denied")
    }

    @Test("A number that somebody else has verified since does not sign in to the old account, whatever the rules")
    func recycled() async throws {
        let app = try NumberApp(firebaseRules: Self.rules(registersUnknown: true, signsInKnown: true))
        let old = try await app.signIn(withFirebase: try app.firebase.token())
        let oldUser = try await userID(app, old)
        // The operator gives the number to another customer.
        let session = try await app.token()
        #expect(try await app.me(session)["user_id"]?.integer != oldUser)
        let refused = try await app.signIn(withFirebase: try app.firebase.token())
        #expect(refused.status == 409 && refused.error == "user_already_exists", "\(refused.body)")
        // The new customer cannot take the identity either: it is the old account's.
        #expect(try await app.link(session, withFirebase: try app.firebase.token()).status == 409)
    }

    @Test(
        "A number that an account has no longer as its verified one does not sign in to it, until it is added again",
        arguments: [true, false])
    func formerNumber(_ isEdited: Bool) async throws {
        let app = try NumberApp(firebaseRules: Self.rules(registersUnknown: true, signsInKnown: true))
        let session = try await PhoneVerificationWalk.session(app)
        let user = try await app.me(session)["user_id"]?.integer
        #expect(try await app.link(session, withFirebase: try app.firebase.token()).status == 201)
        let linked = try await app.me(session)
        #expect(linked["phone_number"]?.string == FakeFirebase.number)
        #expect(linked["phone_number_verified_by"]?.string == FakeFirebase.issuer)
        #expect(try await userID(app, try await app.signIn(withFirebase: try app.firebase.token())) == user)
        // The user has another SIM now, and nobody here has the old number.
        let other = "+14155550102"
        let changed =
            if isEdited {
                try await app.send(
                    .patch, "/users/me", [.authorization: "Bearer \(session)", .contentType: "application/json"],
                    body: #"{"phone_number":"\#(other)"}"#)
            } else {
                try await app.verify(
                    session, withFirebase: try app.firebase.token(other), #","phone_number":"\#(other)""#)
            }
        #expect(changed.status == 200, "\(changed.body)")
        let refused = try await app.signIn(withFirebase: try app.firebase.token())
        #expect(refused.status == 409 && refused.error == "user_already_exists", "\(refused.body)")
        #expect(refused.description.contains("verified number it is no more"), "\(refused.body)")
        #expect(try await app.me(session)["phone_number"]?.string == other)
        #expect(try await app.link(session, withFirebase: try app.firebase.token()).status == 200)
        #expect(try await app.me(session)["phone_number"]?.string == FakeFirebase.number)
        #expect(try await userID(app, try await app.signIn(withFirebase: try app.firebase.token())) == user)
    }

    @Test("A number is a user's if a mobile network verified it, and not if another provider says so")
    func verifiedByOthers() async throws {
        let rows = [
            ("https://northwind", true), (FakeFirebase.issuer, true), ("https://accounts.example", false),
            ("no URL", false),
        ]
        for (name, counts) in rows {
            let app = try NumberApp(firebaseRules: Self.rules(signsInKnown: true))
            let issuer = name == "https://northwind" ? app.northwind.issuer : name
            let user = try await app.me(try await PhoneVerificationWalk.session(app))["user_id"]?.integer
            try await app.testStore.store.writes.submit { db in
                try db.perform(
                    "UPDATE users SET phone_number = ?, phone_number_verified_by = ?", FakeFirebase.number, issuer)
            }
            let answer = try await app.signIn(withFirebase: try app.firebase.token())
            #expect(answer.status == (counts ? 200 : 401), "\(issuer): \(answer.body)")
            guard counts else { continue }
            #expect(try await userID(app, answer) == user)
        }
    }

    @Test("Carriers are known by the hosts that their issuers may have")
    func carriers() throws {
        let http = ScriptedHTTPClient { _ throws(OutboundError) in .json("{}", status: 404) }
        let clock = ManualClock().wallClock
        func server(_ configuration: RelyingParty.Configuration) -> AuthorizationServer {
            AuthorizationServer(RelyingParty(configuration: configuration, http: http, clock: clock), clients: [])
        }
        let discovery = try #require(EndpointURL("https://discovery.example", policy: .httpsOnly))
        let issuer = try #require(EndpointURL("https://accounts.example", policy: .httpsOnly))
        let networks = MobileNetworks(
            Providers([
                Provider(
                    name: "zenkey", title: "", kind: .carriers((nil, nil), server(.init(discoveryURL: discovery)))),
                Provider(name: "accounts", title: "", kind: .openID(server(.init(issuer: issuer)))),
            ]))
        let rows: [(issuer: String?, isNetwork: Bool)] = [
            ("https://op1.att.com", true), ("https://op1.att.com.evil.example", false), (issuer.text, false),
            (nil, false),
        ]
        for row in rows { #expect(networks.contain(row.issuer) == row.isNetwork, "\(row)") }
    }

    @Test("A verification gives the user the number of the token, and takes it from others")
    func verified() async throws {
        let app = try NumberApp()
        let other = try await app.token()
        let session = try await PhoneVerificationWalk.session(app)
        let answer = try await app.verify(
            session, withFirebase: try app.firebase.token(),
            #","method":"firebase_pnv","phone_number":"\#(FakeFirebase.number)""#)
        #expect(answer.status == 200 && answer.text("status") == "verified", "\(answer.body)")
        #expect(answer.text("phone_number") == FakeFirebase.number && answer.text("operator") == "phone")
        #expect(answer.integer("checked_at") == app.clock.now.secondsSinceEpoch)
        #expect(answer.json?["sim_swapped"]?.isNull == true)
        let me = try await app.me(session)
        #expect(me["phone_number"]?.string == FakeFirebase.number)
        #expect(me["phone_number_verified_by"]?.string == FakeFirebase.issuer)
        #expect(try await app.me(other)["phone_number_verified"]?.bool == false)
        let id = try #require(answer.text("verification_id"))
        let path = "/users/me/phone/verifications/\(id)"
        #expect(try await app.send(.get, path, [.authorization: "Bearer \(session)"]).text("status") == "verified")
        #expect(try await app.send(.get, path, [.authorization: "Bearer \(other)"]).status == 404)
        // The verification is no way to sign in.
        #expect(try await app.signIn(withFirebase: try app.firebase.token()).status == 409)
    }

    @Test(
        "A token of somebody else's number verifies nothing, and the account stays as it is",
        arguments: ["", #","phone_number":"+14155550199""#])
    func mismatch(_ members: String) async throws {
        let app = try NumberApp()
        let session = try await PhoneVerificationWalk.session(app)
        let answer = try await app.verify(session, withFirebase: try app.firebase.token(), members)
        #expect(answer.status == 200 && answer.text("status") == "mismatch", "\(answer.body)")
        #expect(!answer.body.contains(FakeFirebase.number), "the token's number is nobody's business")
        try await PhoneVerificationWalk(app, token: session).expectUnchanged()
        #expect(try await app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).isEmpty)
    }

    @Test("A user may begin ten verifications an hour, and the tokens of those beyond are not used")
    func limited() async throws {
        let app = try NumberApp()
        let session = try await PhoneVerificationWalk.session(app)
        for _ in 0..<10 {
            #expect(try await app.verify(session, withFirebase: try app.firebase.token()).status == 200)
        }
        let token = try app.firebase.token()
        let limited = try await app.verify(session, withFirebase: token)
        #expect(limited.status == 429, "\(limited.body)")
        #expect(try await app.link(session, withFirebase: token).status == 201)
    }

    static let malformedBodies: [(path: String, members: String, problem: String)] = [
        ("/auth/phone/sign-in", "", "token is missing"),
        ("/auth/phone/sign-in", #""token":"a b""#, "token must have visible ASCII characters only"),
        ("/auth/phone/sign-in", #""token":"t","method":"redirect""#, "method must be firebase_pnv"),
        ("/auth/phone/sign-in", #""token":"t","method":7"#, "method must be a string"),
        ("/auth/phone/sign-in", #""token":"t","nonce":7"#, "nonce must be a string"),
        ("/auth/phone/sign-in", #""token":"t","client_id":"another""#, "client_id is not one"),
        ("/auth/number/sign-in", #""operator_token":"t","method":"firebase_pnv""#, "method must be operator_token"),
        ("/auth/number/start", #""method":"operator_token""#, "operator_token is missing"),
        ("/auth/number/start", #""method":"sms""#, "method must be operator_token"),
        ("/auth/phone/start", #""method":"redirect","client_type":"ios","redirect_uri":"a:/b""#, "Send it as token"),
        ("/users/me/phone/verifications", #""method":"sms""#, "method must be one of"),
        ("/users/me/phone/verifications", #""method":"firebase_pnv""#, "token is missing"),
        ("/users/me/phone/verifications", #""method":"redirect","token":"t""#, "redirect_uri is missing"),
        ("/users/me/phone/verifications", #""token":"t","provider":"number""#, "takes no token of Firebase"),
        ("/users/me/phone/verifications", #""operator_token":"t","provider":"phone""#, "takes no operator_token"),
        ("/users/me/phone/verifications", #""token":"t","phone_number":"jane""#, "phone_number must be + and 5"),
    ]

    @Test("What is missing or malformed is named", arguments: malformedBodies)
    func malformed(path: String, members: String, problem: String) async throws {
        let app = try NumberApp()
        let session = try await PhoneVerificationWalk.session(app)
        let answer = try await app.send(.post, path, [.authorization: "Bearer \(session)"], body: "{\(members)}")
        #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
        #expect(answer.description.contains(problem), "\(answer.body)")
    }

    @Test("A start with a token in place of a browser is a sign-in")
    func start() async throws {
        let app = try NumberApp(firebaseRules: Self.rules(registersUnknown: true))
        let bodies = [
            ("phone", #""token":"\#(try app.firebase.token())""#),
            ("phone", #""method":"firebase_pnv","token":"\#(try app.firebase.token())""#),
            ("number", #""operator_token":"TS43-1","operator":"northwind""#),
            ("number", #""method":"operator_token","operatorToken":"TS43-2","operator":"northwind""#),
        ]
        for (provider, members) in bodies {
            let answer = try await app.send(.post, "/auth/\(provider)/start", body: "{\(members)}")
            #expect(answer.status == 200, "\(answer.body)")
            let token = try #require(answer.text("token"))
            #expect(try await app.me(token)["phone_number"]?.string == FakeFirebase.number)
        }
        let redirect = #"{"method":"redirect","client_type":"ios","redirect_uri":"com.example.app://cb","#
        let started = try await app.send(.post, "/auth/number/start", body: redirect + #""operator":"northwind"}"#)
        #expect(started.text("location")?.hasPrefix(app.northwind.issuer) == true, "\(started.body)")
    }

    @Test("No browser is sent to Firebase, and frontends are not told of a start there")
    func browsers() async throws {
        let app = try NumberApp()
        let start = try await app.send(
            .get, NumberApp.query().replacing("/number/", with: "/phone/"), [.accept: "application/json"])
        #expect(start.status == 400 && start.description.contains("Send it as token"), "\(start.body)")
        let code = try await app.send(
            .post, "/auth/phone/sign-in", body: #"{"code":"C","redirect_uri":"com.example.app://cb"}"#)
        #expect(code.status == 400 && code.description.contains("token is missing"), "\(code.body)")
        let providers = try await app.send(.get, "/auth/providers").json?["providers"]?.array ?? []
        #expect(providers.compactMap { $0.object?["id"]?.string } == ["number"])
    }

    @Test("A caller signs in, verifies and links only for its own clients")
    func callers() async throws {
        let app = try NumberApp(
            firebaseRules: Self.rules(registersUnknown: true),
            keys: ["KEY-of-the-operator-client": APIGrant(clients: ["latchkey"])])
        let session = try await PhoneVerificationWalk.session(app)
        let token = try app.firebase.token()
        let key = "KEY-of-the-operator-client"
        let bodies = [
            ("/auth/phone/sign-in", ""), ("/auth/phone/start", ""), ("/users/me/phone/verifications", ""),
            ("/users/me/identities", #","provider":"phone""#),
        ]
        for (path, members) in bodies {
            let answer = try await app.send(
                .post, path, [.authorization: "Bearer \(session)"], body: #"{"token":"\#(token)"\#(members)}"#,
                apiKey: key)
            #expect(answer.error == "unauthorized_client", "\(path): \(answer.body)")
        }
        #expect(try await app.signIn(withFirebase: token).status == 200, "it was not used")
    }

    @Test("Without Firebase's keys nobody is signed in, and the token can be sent again")
    func keysUnavailable() async throws {
        let app = try NumberApp(firebaseRules: Self.rules(registersUnknown: true))
        let token = try app.firebase.token()
        app.http.answer { request throws(OutboundError) in
            guard request.url.text == FakeFirebase.keysURL else { return .json("{}", status: 404) }
            return .json("{}", status: 500)
        }
        let failed = try await app.signIn(withFirebase: token)
        #expect(failed.status == 502 && failed.error == "carrier_error", "\(failed.body)")
        app.http.answer { [firebase = app.firebase] request throws(OutboundError) in
            firebase.answer(request) ?? .json("{}", status: 404)
        }
        // The keys are asked for again a while later.
        app.clock.advance(bySeconds: 61)
        #expect(try await app.signIn(withFirebase: token).status == 200)
    }
}
