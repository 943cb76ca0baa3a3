import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The carrier's word for an e-mail address and a phone number, as apps and services see it.
@Suite("What the carrier vouches for")
struct ProviderAssertionsTests {
    private static let shapes = [
        #""email":"EMAIL","email_verified":true,"phone_number":"PHONE","phone_number_verified":true"#,
        #""email":"EMAIL","email_verified":"true","phone_number":"PHONE","phone_number_verified":"true""#,
        #"""
        "email":{"value":"EMAIL"},"email_verified":{"value":"true"},"phone":{"value":"PHONE"},
        "phone_number_verified":{"value":true}
        """#,
    ]
    private static let members = ["email", "phone_number"].flatMap { name in
        ["", "_at", "_by"].map { "\(name)_verified\($0)" }
    }

    /// The carrier tells this from now on.
    private func tell(
        _ app: TestApp, email: String = "jane@mail.example", phone: String = "+13101234567",
        as shape: String = shapes[0]
    ) {
        let members = shape.replacing("EMAIL", with: email).replacing("PHONE", with: phone)
        app.carrier.script {
            $0.userInfo = { _ throws(OutboundError) in .json(#"{"sub":"SUBJECT-of-jane","name":"Jane",\#(members)}"#) }
        }
    }

    private func signIn(_ app: TestApp) async throws -> String {
        let body = SignInBody().code("CODE-\(app.carrier.tokenPosts)").with("scope", "\"openid name email phone\"")
        return try await app.token(body)
    }

    private func introspect(_ app: TestApp, _ token: String) async throws -> Answer {
        try await app.form("/auth/introspect", "token=\(token)")
    }

    @Test("is in the profile and in introspection, with when and by whom", arguments: shapes)
    func shown(shape: String) async throws {
        let app = try TestApp()
        tell(app, as: shape)
        let token = try await signIn(app)
        let time = app.clock.now.secondsSinceEpoch
        app.clock.advance(bySeconds: 60)
        for answer in [try await app.me(token), try await introspect(app, token)] {
            #expect(answer.status == 200)
            for name in ["email", "phone_number"] {
                #expect(answer.json?["\(name)_verified"]?.bool == true)
                #expect(answer.integer("\(name)_verified_at") == time)
                #expect(answer.text("\(name)_verified_by") == FakeCarrier.issuer)
            }
        }
        // A later sign-in with the same word changes nothing; every session shows the same.
        let other = try await signIn(app)
        #expect(try await app.me(other).body == app.me(token).body)
        // From the store, after the cache forgot it.
        app.clock.advance(bySeconds: 60)
        #expect(try await app.me(token).integer("email_verified_at") == time)
    }

    @Test(
        "is not assumed",
        arguments: [
            #""email":"EMAIL","phone_number":"PHONE""#, #""email":{"value":"EMAIL"},"phone":{"value":"PHONE"}"#,
            #""email":"EMAIL","email_verified":false,"phone_number":"PHONE","phone_number_verified":"false""#,
            #""email":"EMAIL","email_verified":1,"phone_number":"PHONE","phone_number_verified":"yes""#,
            #""email_verified":true,"phone_number_verified":true"#,
        ])
    func notAssumed(shape: String) async throws {
        let app = try TestApp()
        tell(app, as: shape)
        let token = try await signIn(app)
        for answer in [try await app.me(token), try await introspect(app, token)] {
            for name in ["email", "phone_number"] {
                #expect(answer.json?["\(name)_verified"]?.bool == false)
                #expect(answer.json?["\(name)_verified_at"]?.isNull == true)
                #expect(answer.json?["\(name)_verified_by"]?.isNull == true)
            }
        }
    }

    @Test("says nothing of a token that is not valid")
    func inactive() async throws {
        let app = try TestApp()
        #expect(try await introspect(app, "unknown").body == #"{"active":false}"#)
    }

    @Test("ends with an edit of the value, and of no other")
    func edited() async throws {
        let app = try TestApp()
        tell(app)
        let (token, other) = (try await signIn(app), try await signIn(app))
        #expect(try await app.me(other).json?["email_verified"]?.bool == true)
        #expect(try await app.patch(token, #"{"name":"J","email":"jane@mail.example"}"#).status == 200)
        #expect(try await app.me(token).json?["email_verified"]?.bool == true, "the same value")
        let edited = try await app.patch(token, #"{"email":"jane@other.example"}"#)
        #expect(edited.json?["email_verified"]?.bool == false)
        #expect(edited.json?["phone_number_verified"]?.bool == true)
        for token in [token, other] {
            for answer in [try await app.me(token), try await introspect(app, token)] {
                #expect(answer.json?["email_verified"]?.bool == false)
                #expect(answer.json?["email_verified_by"]?.isNull == true)
                #expect(answer.json?["phone_number_verified"]?.bool == true)
            }
        }
        let cleared = try await app.patch(token, #"{"phone_number":null}"#)
        #expect(cleared.json?["phone_number_verified"]?.bool == false)
    }

    @Test("A change at the carrier reaches the profile at the next sign-in, in every session")
    func changed() async throws {
        let app = try TestApp()
        tell(app)
        let token = try await signIn(app)
        #expect(try await app.me(token).text("email") == "jane@mail.example")
        app.clock.advance(bySeconds: 100)
        tell(app, email: "jane@new.example", phone: "+13105550000")
        let other = try await signIn(app)
        for token in [token, other] {
            let me = try await app.me(token)
            #expect(me.text("email") == "jane@new.example")
            #expect(me.text("phone_number") == "+13105550000")
            #expect(me.integer("email_verified_at") == app.clock.now.secondsSinceEpoch)
        }
    }

    @Test("A change at the carrier does not replace what the user edited")
    func ownValue() async throws {
        let app = try TestApp()
        tell(app)
        let token = try await signIn(app)
        #expect(try await app.patch(token, #"{"email":"own@mail.example"}"#).status == 200)
        tell(app, email: "jane@new.example", phone: "+13105550000")
        let me = try await app.me(signIn(app))
        #expect(me.text("email") == "own@mail.example")
        #expect(me.json?["email_verified"]?.bool == false)
        #expect(me.text("phone_number") == "+13105550000")
        #expect(me.json?["phone_number_verified"]?.bool == true)
    }

    @Test("is kept through a registration, for the values that the user left")
    func registered() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(registration: rules)
        tell(app)
        let body = SignInBody().with("scope", "\"openid name email phone\"")
        let handle = try #require(try await app.signIn(body).text("state_key"))
        let answer = try await app.post("/users", #"{"state_key":"\#(handle)","email":"own@mail.example"}"#)
        let me = try await app.me(try #require(answer.text("token")))
        #expect(me.json?["email_verified"]?.bool == false)
        #expect(me.json?["phone_number_verified"]?.bool == true)
        #expect(me.text("phone_number_verified_by") == FakeCarrier.issuer)
    }
}
