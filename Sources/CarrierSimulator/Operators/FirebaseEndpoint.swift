import HTTPServer
import Primitives

/// Firebase Phone Number Verification: the key set, and the tokens that Google's library gives an app.
struct FirebaseEndpoint: Sendable {
    static let path = "/firebase"
    /// How long a token is valid, in seconds.
    private static let lifetime: Int64 = 3600

    let simulator: CarrierSimulator

    /// `GET /firebase/v1beta/jwks`
    func respondWithKeys(_ request: Request) async throws -> Response {
        let key = try await key
        return .json(["keys": .array([key.publicJWK(keyID: key.keyID).value])])
    }

    /// `POST /firebase/tokens`: a token of a project for `phone_number`.
    func makeToken(_ request: Request) async throws -> Response {
        let parameters = try Parameters(contentOf: request)
        guard let number = parameters["phone_number"], let projectNumber = parameters["project_number"],
            let projectID = parameters["project_id"]
        else { throw OAuthError.invalidRequest("Send phone_number, project_number and project_id.") }
        let token = try await simulator.makeFirebaseToken(
            for: number, projectNumber: projectNumber, projectID: projectID, nonce: parameters["nonce"])
        return .json(["token": .string(token), "expires_in": .integer(Self.lifetime)])
    }

    fileprivate var key: SigningKey {
        get async throws { try await KeyPool.shared.key(.init(mccmnc: "firebase", purpose: .signing(.es256))) }
    }

    fileprivate func token(
        _ number: String, _ projectNumber: String, _ projectID: String, _ nonce: String?,
        _ change: (inout JSONMembers) -> Void
    ) async throws -> String {
        let now = simulator.clock.now()
        let projects = "https://fpnv.googleapis.com/projects/"
        var claims: JSONMembers = [
            "iss": .string(projects + projectNumber), "sub": .string(number),
            "aud": .texts([projects + projectNumber, projects + projectID]), "iat": .time(now),
            "exp": .time(now.advanced(bySeconds: Self.lifetime)), "jti": .string(simulator.random.token(bytes: 16)),
        ]
        claims["nonce"] = .string(nonce)
        change(&claims)
        return try TokenDraft(.idToken, type: "JWT", claims: claims, key: try await key, now: now).serialized()
    }
}

extension CarrierSimulator {
    /// The key set of Firebase Phone Number Verification; nil before the simulator is served.
    public var firebaseKeysURL: String? { baseURL.map { $0 + FirebaseEndpoint.path + "/v1beta/jwks" } }

    /// A token of Firebase Phone Number Verification, as Google's library gives an app.
    /// - Parameters:
    ///   - number: The subject: of a real token, `+` and digits.
    ///   - change: Changes the claims of a token that is to be refused.
    package func makeFirebaseToken(
        for number: String, projectNumber: String, projectID: String, nonce: String? = nil,
        change: (inout JSONMembers) -> Void = { _ in }
    ) async throws -> String {
        try await FirebaseEndpoint(simulator: self).token(number, projectNumber, projectID, nonce, change)
    }
}
