import Primitives

/// The response of a userinfo endpoint (OpenID Connect Core section 5.3.2).
enum UserInfoResponse: Sendable {
    /// The claims as plain JSON.
    case plain(JSONObject)
    /// A JWT.
    case signed(SignedUserInfo)

    /// - Parameters:
    ///   - algorithm: What the response must be signed with; nil if it need not be signed.
    ///   - usual: What one that need not be signed may be signed with.
    /// - Throws: ``OIDCError/Code/unusableResponse`` if it is neither, or not what it must be.
    init(
        _ response: OutboundResponse, signedWith algorithm: SigningAlgorithm?,
        orAnyOf usual: Set<SigningAlgorithm> = SigningAlgorithm.standard, limits: OutboundLimits
    ) throws(OIDCError) {
        if response.status == 200, ProviderResponse.mediaType(response) == "application/jwt" {
            let text = String(decoding: response.body, as: UTF8.self)
            let algorithms = algorithm.map { [$0] } ?? usual
            self = .signed(try SignedUserInfo(Secret(text), algorithms: algorithms, limits: limits))
            return
        }
        let claims = try ProviderResponse.okObject(
            response, maximumBytes: limits.userInfoBytes,
            otherwise: "The userinfo response is not status 200 with a JSON object.")
        if let algorithm {
            throw .unusable(
                "The userinfo response is not signed, but the client is registered for \(algorithm.rawValue).")
        }
        self = .plain(claims)
    }
}
