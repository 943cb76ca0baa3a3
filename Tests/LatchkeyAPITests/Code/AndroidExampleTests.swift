import Foundation
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import TestSupport
import Testing

/// What the published Android example sends, compares with and decodes: the names, types and optionality of its models.
@Suite("With compat.android, the published Android example")
struct AndroidExampleTests {
    /// An attribute in the example's profile.
    private struct Value: Decodable {
        let value: String?
        let verified: Int?
    }

    private struct Name: Decodable {
        let value: String?
        let verified: Int?
        let givenName: String?
        let familyName: String?
    }

    private struct UserResponse: Decodable {
        let username: String?
        let userId: Int64?
        let zenkeySub: String?
        let name: Name?
        let email: Value?
        let postalCode: Value?
        let phoneNumber: Value?
    }

    private struct TokenResponse: Decodable {
        let token: String
        let refreshToken: String
        let tokenType: String
        let expires: Int64
    }

    private struct ErrorResponse: Decodable {
        let error: String?
        let errorDescription: String?
    }

    private static var android: Compatibility {
        var compatibility = Compatibility()
        compatibility.android = true
        return compatibility
    }

    private static var required: RegistrationRules {
        var rules = RegistrationRules()
        rules.isRequired = true
        return rules
    }

    private func decode<Model: Decodable>(_ type: Model.Type, _ answer: Answer) throws -> Model {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: Data(answer.body.utf8))
    }

    @Test("decodes the tokens and the user, with and without attributes")
    func user() async throws {
        let app = try TestApp(compatibility: Self.android)
        let plain = try decode(TokenResponse.self, try await app.signIn())
        #expect(plain.tokenType == "bearer")
        let bare = try decode(UserResponse.self, try await app.me(plain.token))
        #expect(bare.userId != nil)
        #expect(bare.zenkeySub?.isEmpty == false)
        #expect(bare.name == nil && bare.email == nil && bare.postalCode == nil && bare.phoneNumber == nil)
        let body = SignInBody().code("CODE-2").with("scope", "\"openid name email phone postal_code\"")
        let tokens = try decode(TokenResponse.self, try await app.signIn(body))
        let user = try decode(UserResponse.self, try await app.me(tokens.token))
        #expect(user.name?.value == "Jane Doe")
        #expect(user.name?.givenName == "Jane")
        #expect(user.name?.familyName == "Doe")
        #expect(user.email?.value == "jane@mail.example")
        #expect(user.postalCode?.value == "90210-3456")
        #expect(user.phoneNumber?.value == "+13101234567")
        let edited = try decode(
            UserResponse.self, try await app.patch(tokens.token, #"{"username":"jane","email":null}"#))
        #expect(edited.username == "jane")
        #expect(edited.email == nil)
    }

    @Test("is told that an unknown user is unlinked, by a sign-in and by a poll, and registers with a form")
    func unlinked() async throws {
        let app = try TestApp(registration: Self.required, compatibility: Self.android)
        let refused = try await app.signIn()
        #expect(refused.status == 403)
        #expect(try decode(ErrorResponse.self, refused).error == "unlinked_user")
        #expect(refused.text("error_type") == "requestDenied")
        #expect(refused.text("message")?.contains("register") == true)
        let sub = try #require(refused.json?["zenkey_attributes"]?.object?["sub"]?.string)
        let form =
            "username=jane&password=p&zenkey_sub=\(sub)&name=Jane&phone_number=%2B13101234567&postal_code=90210"
            + "&email=jane%40mail.example"
        let registered = try await app.form("/users", form)
        #expect(registered.status == 201, "\(registered.body)")
        _ = try decode(TokenResponse.self, registered)

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
        #expect(throws: DecodingError.self) { try decode(UserResponse.self, me) }
    }
}
