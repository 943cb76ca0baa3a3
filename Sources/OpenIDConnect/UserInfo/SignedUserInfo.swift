import Primitives

/// A userinfo response that is a signed JWT (OpenID Connect Core section 5.3.2), and is not verified yet.
struct SignedUserInfo: Sendable {
    private let token: SignedToken

    /// - Parameter algorithms: What the provider may sign it with.
    /// - Throws: ``OIDCError/Code/unusableResponse``.
    init(_ text: Secret, algorithms: Set<SigningAlgorithm>, limits: OutboundLimits) throws(OIDCError) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: limits.userInfoBytes, type: .userInfo, allows: algorithms.contains)
        } catch {
            let accepted = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            throw .unusable(
                error.check == .algorithm
                    ? "The userinfo response must be signed with \(accepted), as the client is registered."
                    : "The userinfo response is a JWT that is encrypted, or not a signed one in compact form.")
        }
    }

    func isVerified(by keys: JSONWebKeySet) -> Bool {
        SignatureValidationContext(token, keys: keys).verifies
    }

    /// The claims, which are to be believed if the signature was verified.
    /// - Throws: ``OIDCError/Code/unusableResponse``.
    func claims() throws(OIDCError) -> UserInfoClaims { try UserInfoClaims(token.payload) }
}
