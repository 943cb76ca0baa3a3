import Foundation
import TestSupport

/// What ZenKey's published iOS example app sends and decodes: the names, types and optionality of its types, and its
/// calls. It decodes with `convertFromSnakeCase`, and chooses the type by the status.
enum IOSExampleApp {
    /// The SDK's result of an authorization, which the app posts as it is.
    struct AuthorizedResponse: Encodable, Sendable {
        let code: String
        let mccmnc: String
        let redirectURI: URL
        let codeVerifier: String
        var nonce: String?
        var acrValues: [String]?
        var correlationId: String?
        var context: String?
        var clientId: String?

        private enum CodingKeys: String, CodingKey {
            case code, mccmnc, nonce, context
            case redirectURI = "redirect_uri"
            case codeVerifier = "code_verifier"
            case acrValues = "acr_values"
            case correlationId = "correlation_id"
            case clientId = "client_id"
        }
    }

    struct SigninResponse: Decodable {
        let token: String
        let refreshToken: String
        let tokenType: String
        let expires: Int
    }

    struct UserResponse: Decodable {
        let zenkeySub: String
        let userId: Int
        let username: String?
        let name: String?
        let email: String?
        let postalCode: String?
        let phoneNumber: String?
    }

    struct ErrorResponse: Decodable {
        let error: String
        let errorDescription: String
    }

    /// 403: the user must register.
    struct UnlinkedResponse: Decodable {
        let zenkeyAttributes: Attributes
        let error: String
        let errorDescription: String
    }

    struct Attributes: Decodable {
        let sub: String
        let name: Name?
        let email: Value?
        let phone: Value?
        let postalCode: Value?
        let birthdate: Value?
        let last4Social: Value?
        let address: Address?
        let isAdult18: Flag?
        let isAdult21: Flag?
        let isOver13: Flag?
    }

    struct Name: Decodable {
        let value: String
        let givenName: String
        let familyName: String
    }

    struct Value: Decodable { let value: String }
    struct Flag: Decodable { let value: Bool }

    struct Address: Decodable {
        let formatted: String?
        let streetAddress: String?
        let locality: String?
        let region: String?
        let postalCode: String?
        let country: String?
    }

    enum SignInResult {
        case success(SigninResponse)
        case unlinked(UnlinkedResponse)
        case failure(ErrorResponse)
    }

    enum Result<Success> {
        case success(Success)
        case failure(ErrorResponse)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: Data(body))
    }

    /// As the app decodes the response of a sign-in.
    static func signInResult(_ status: Int, _ body: [UInt8]) throws -> SignInResult {
        switch status {
        case 200: .success(try decode(SigninResponse.self, body))
        case 403: .unlinked(try decode(UnlinkedResponse.self, body))
        default: .failure(try decode(ErrorResponse.self, body))
        }
    }

    /// As the app decodes the response of `users/me`.
    static func userResult(_ status: Int, _ body: [UInt8]) throws -> Result<UserResponse> {
        status == 200
            ? .success(try decode(UserResponse.self, body)) : .failure(try decode(ErrorResponse.self, body))
    }

    /// As the app decodes the response of a sign-out: of a success it reads the status only.
    static func signOutResult(_ status: Int, _ body: [UInt8]) throws -> Result<Void> {
        status == 200 ? .success(()) : .failure(try decode(ErrorResponse.self, body))
    }
}

/// The calls of the app over a real socket. Each has all three header fields, and a session's token if there is one.
struct SigninService {
    let app: App
    var apiToken: String?

    func signIn(_ response: IOSExampleApp.AuthorizedResponse) async throws -> (App.Answer, IOSExampleApp.SignInResult) {
        let body = String(decoding: try JSONEncoder().encode(response), as: UTF8.self)
        let answer = try await send("POST", "/auth/zenkey-signin", body: body)
        return (answer, try IOSExampleApp.signInResult(answer.status, answer.response.body))
    }

    func getUser() async throws -> (App.Answer, IOSExampleApp.Result<IOSExampleApp.UserResponse>) {
        let answer = try await send("GET", "/users/me")
        return (answer, try IOSExampleApp.userResult(answer.status, answer.response.body))
    }

    func signOut() async throws -> (App.Answer, IOSExampleApp.Result<Void>) {
        let answer = try await send("DELETE", "/auth/token")
        return (answer, try IOSExampleApp.signOutResult(answer.status, answer.response.body))
    }

    private func send(_ method: String, _ path: String, body: String = "") async throws -> App.Answer {
        var headers = ["Accept: application/json", "Content-Type: application/json"]
        if let apiToken { headers.append("Authorization: " + apiToken) }
        return try await app.send(method, path, headers: headers, body: body)
    }
}
