import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import TestSupport
import Testing

/// What the published Android example compares with; the tests of the published apps decode its types.
@Suite("With compat.android, the published Android example")
struct AndroidExampleTests {
    private static var android: Compatibility {
        var compatibility = Compatibility()
        compatibility.android = true
        return compatibility
    }

    private static var required: TestRegistration {
        var rules = TestRegistration()
        rules.isRequired = true
        return rules
    }

    @Test("is told that an unknown user is unlinked, by a sign-in and by a poll, and registers with a form")
    func unlinked() async throws {
        let app = try TestApp(registration: Self.required, compatibility: Self.android)
        let refused = try await app.signIn()
        #expect(refused.status == 403)
        #expect(refused.error == "unlinked_user")
        #expect(refused.text("error_type") == "requestDenied")
        #expect(refused.text("message")?.contains("register") == true)
        let sub = try #require(refused.json?["zenkey_attributes"]?.object?["sub"]?.string)
        let form =
            "username=jane&password=p&zenkey_sub=\(sub)&name=Jane&phone_number=%2B13101234567&postal_code=90210"
            + "&email=jane%40mail.example"
        let registered = try await app.form("/users", form)
        #expect(registered.status == 201, "\(registered.body)")

        let calls = try BackchannelCalls(registration: Self.required, compatibility: Self.android)
        let handle = try await calls.handle()
        _ = try await calls.notify()
        #expect(try await calls.poll(handle).error == "unlinked_user")
    }

    @Test("is what changes: without it, the error and the profile are those of the contract")
    func standard() async throws {
        #expect(try await TestApp(registration: Self.required).signIn().error == "user_not_registered")
        let app = try TestApp()
        let body = SignInBody().with("scope", "\"openid name email\"")
        let me = try await app.me(try await app.token(body))
        #expect(me.text("name") == "Jane Doe")
        #expect(me.text("email") == "jane@mail.example")
    }
}
