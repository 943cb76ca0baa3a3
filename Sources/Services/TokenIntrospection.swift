import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// What a service learns of a token (RFC 7662 section 2.2).
struct TokenIntrospection: Sendable {
    /// The media type of a signed response (RFC 9701 section 5), and its `typ`.
    static let signedType = "token-introspection+jwt"
    static let signedContentType = "application/" + signedType

    private let found: SessionAndUser?
    private let key: String?
    private let isRefreshToken: Bool

    /// - Parameters:
    ///   - found: The session of a valid token. One of a client that the key is not for counts as unknown.
    ///   - key: The thumbprint of the key that the token is bound to.
    init(of found: SessionAndUser?, boundTo key: String?, isRefreshToken: Bool, for admission: Admission) {
        self.key = key
        self.found = found.flatMap { admission.allows($0.session.clientID) ? $0 : nil }
        self.isRefreshToken = isRefreshToken
    }

    var response: Response { .json(.ok, capacity: 512, write) }

    @Sendable private func write(to json: inout JSONObjectWriter) {
        json.add("active", found != nil)
        guard let found else { return }
        // A refresh token is not a bearer token, and `expiresAt` is not its expiry.
        if !isRefreshToken {
            json.add("token_type", key == nil ? "bearer" : "DPoP")
            json.add("exp", found.session.expiresAt.secondsSinceEpoch)
        }
        if let key { json.add("cnf", object: { $0.add("jkt", key) }) }
        json.add("client_id", found.session.clientID)
        json.add("sub", found.user.publicID)
        json.add("user_id", found.user.id.number)
        json.add("username", ifPresent: found.user.profile[.username])
        json.add("auth_time", found.session.createdAt.secondsSinceEpoch)
        json.add("session_id", found.session.id)
        found.user.addVerifications(to: &json)
    }

    /// The `aud` of a signed response, if the service asks for one: the user name of HTTP Basic, under which the
    /// service knows itself. Nil if the service has another credential, which says nothing of that name.
    static func audience(of request: Request) -> String? {
        guard request.headers.count(of: .apiKey) == 0, request.names(signedContentType) else { return nil }
        let name = request.basicCredentials.flatMap { PercentEncoding.decodeForm($0.name) }
        return name.flatMap { $0.isVisibleASCII(upTo: 255) ? $0 : nil }
    }

    /// RFC 9701 section 5. It has no `sub` and `exp` of its own, so that it is never taken for an access token.
    /// - Throws: `temporarily_unavailable`; `server_error` if it cannot be signed.
    func signed(for audience: String, by api: LatchkeyAPI) async throws(SignInError) -> Response {
        var claims = JSONObjectWriter(capacity: 1024)
        claims.add("iss", api.baseURL.url ?? "latchkey")
        claims.add("aud", audience)
        claims.add("iat", api.useCases.environment.clock.now().secondsSinceEpoch)
        claims.add("token_introspection", object: write)
        let token = try await api.useCases.signingKeys.signer().token(
            type: Self.signedType, naming: .keyID, claims: claims.finish())
        return Response(
            status: .ok, headers: [.contentType: Self.signedContentType, .cacheControl: "no-store"],
            body: Array(token.exposed.utf8))
    }
}
