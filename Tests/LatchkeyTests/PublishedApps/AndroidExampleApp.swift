import Foundation
import TestSupport

/// What ZenKey's published Android example app sends and decodes: the names, types and optionality of its types, and
/// its calls. It decodes every 2xx as the type of the call, and anything else as `ErrorResponse`.
enum AndroidExampleApp {
    struct SignInRequest: Encodable {
        let clientId: String
        let code: String
        let redirectUri: String
        let mccmnc: String
        var codeVerifier: String?
        var correlationId: String?
        var nonce: String?
        var context: String?
        /// Separated by spaces.
        var acrValues: String?

        private enum CodingKeys: String, CodingKey {
            case code, mccmnc, nonce, context
            case clientId = "client_id"
            case redirectUri = "redirect_uri"
            case codeVerifier = "code_verifier"
            case correlationId = "correlation_id"
            case acrValues = "acr_values"
        }
    }

    struct TokenResponse: Decodable {
        let token: String
        let refreshToken: String
        let tokenType: String
        let expires: Int64

        private enum CodingKeys: String, CodingKey {
            case token, expires
            case refreshToken = "refresh_token"
            case tokenType = "token_type"
        }
    }

    /// An attribute of the user.
    struct Value: Decodable {
        let value: String?
        let verified: Int?
    }

    struct Name: Decodable {
        let value: String?
        let verified: Int?
        let givenName: String?
        let familyName: String?

        private enum CodingKeys: String, CodingKey {
            case value, verified
            case givenName = "given_name"
            case familyName = "family_name"
        }
    }

    struct UserResponse: Decodable {
        let username: String?
        let userId: Int64?
        let zenkeySub: String?
        let name: Name?
        let email: Value?
        let postalCode: Value?
        let phoneNumber: Value?

        private enum CodingKeys: String, CodingKey {
            case username, name, email
            case userId = "user_id"
            case zenkeySub = "zenkey_sub"
            case postalCode = "postal_code"
            case phoneNumber = "phone_number"
        }
    }

    struct ErrorResponse: Decodable {
        let error: String?
        let errorDescription: String?

        private enum CodingKeys: String, CodingKey {
            case error
            case errorDescription = "error_description"
        }
    }

    enum Result<Success> {
        case success(Success)
        case failure(ErrorResponse)
    }

    static func result<Success: Decodable>(
        _ type: Success.Type, _ status: Int, _ body: [UInt8]
    ) throws -> Result<Success> {
        (200..<300).contains(status)
            ? .success(try JSONDecoder().decode(type, from: Data(body)))
            : .failure(try JSONDecoder().decode(ErrorResponse.self, from: Data(body)))
    }
}

/// The calls of the app over a real socket.
struct AuthApi {
    let app: App
    typealias Tokens = AndroidExampleApp.Result<AndroidExampleApp.TokenResponse>

    func signIn(_ request: AndroidExampleApp.SignInRequest) async throws -> (App.Answer, Tokens) {
        let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        return try await tokens("/auth/zenkey-signin", "application/json; charset=UTF-8", body)
    }

    /// All fields are sent, empty where the user entered nothing.
    func createUser(zenkeySub: String, _ fields: [String: String]) async throws -> (App.Answer, Tokens) {
        var form = ["zenkey_sub": zenkeySub]
        for name in ["username", "password", "name", "phone_number", "postal_code", "email"] {
            form[name] = fields[name] ?? ""
        }
        return try await tokens("/users", "application/x-www-form-urlencoded", App.form(form))
    }

    func refreshToken(_ refreshToken: String) async throws -> (App.Answer, Tokens) {
        try await tokens(
            "/auth/token", "application/x-www-form-urlencoded",
            App.form(["grant_type": "refresh_token", "refresh_token": refreshToken]))
    }

    func getUser(_ token: String) async throws -> (App.Answer, AndroidExampleApp.Result<AndroidExampleApp.UserResponse>)
    {
        let answer = try await app.me(token)
        return (
            answer,
            try AndroidExampleApp.result(AndroidExampleApp.UserResponse.self, answer.status, answer.response.body)
        )
    }

    func endSession(_ token: String?) async throws -> App.Answer {
        try await app.send("DELETE", "/auth/token", headers: token.map { ["Authorization: Bearer \($0)"] } ?? [])
    }

    private func tokens(_ path: String, _ type: String, _ body: String) async throws -> (App.Answer, Tokens) {
        let answer = try await app.send(
            "POST", path, headers: ["Content-Type: \(type)", "User-Agent: okhttp/3.12.0"], body: body)
        return (
            answer,
            try AndroidExampleApp.result(AndroidExampleApp.TokenResponse.self, answer.status, answer.response.body)
        )
    }
}
