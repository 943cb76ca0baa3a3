import Primitives

/// The response of a userinfo endpoint (OpenID Connect Core section 5.3.2).
enum UserInfoResponse: Sendable {
    /// The claims as plain JSON.
    case plain(JSONObject)
    /// The claims of a JWT that was encrypted for the client and is not signed. Anyone could have encrypted them: like
    /// plain JSON, they are the provider's by their connection only.
    case encrypted(UserInfoClaims)
    /// A signed JWT, which may have been encrypted. It is not verified yet.
    case signed(SignedToken)

    /// - Parameters:
    ///   - algorithm: What the response must be signed with; nil if it need not be signed.
    ///   - usual: What one that need not be signed may be signed with.
    ///   - decryption: How the response must be encrypted; nil if it must not be.
    /// - Throws: ``OIDCError/Code/unusableResponse`` if it is neither, or not what it must be.
    init(
        _ response: OutboundResponse, signedWith algorithm: SigningAlgorithm?,
        orAnyOf usual: Set<SigningAlgorithm> = SigningAlgorithm.standard,
        encryptedAs decryption: ResponseDecryption? = nil, limits: OutboundLimits
    ) throws(OIDCError) {
        if response.status == 200, ProviderResponse.mediaType(response) == "application/jwt" {
            var token = Secret(String(decoding: response.body, as: UTF8.self))
            if let decryption {
                token = try Self.content(of: token, decryption, limits)
                // Not in the base64url of a signed token.
                if algorithm == nil, token.exposed.utf8.contains(UInt8(ascii: "{")) {
                    self = .encrypted(try UserInfoClaims(Array(token.exposed.utf8)))
                    return
                }
            }
            let algorithms = algorithm.map { [$0] } ?? usual
            self = .signed(try Self.signedToken(token, algorithms, limits))
            return
        }
        let claims = try ProviderResponse.okObject(
            response, maximumBytes: limits.userInfoBytes,
            otherwise: "The userinfo response is not status 200 with a JSON object.")
        if let decryption {
            throw .unusable(
                "The userinfo response is not encrypted, but the client is registered for "
                    + "\(decryption.key.algorithm.rawValue).")
        }
        if let algorithm {
            throw .unusable(
                "The userinfo response is not signed, but the client is registered for \(algorithm.rawValue).")
        }
        self = .plain(claims)
    }

    /// - Throws: ``OIDCError/Code/unusableResponse`` with one reason, whatever is wrong, so that a forger learns
    ///   nothing from the difference.
    private static func content(
        of token: Secret, _ decryption: ResponseDecryption, _ limits: OutboundLimits
    ) throws(OIDCError) -> Secret {
        guard let content = decryption.content(of: token, maximumBytes: limits.userInfoBytes) else {
            throw .unusable(
                "The userinfo response must be encrypted for the client's decryption_key with "
                    + "\(decryption.key.algorithm.rawValue) and \(decryption.encryption.rawValue), as the client is "
                    + "registered.")
        }
        return content
    }

    /// - Parameter algorithms: What the provider may sign it with.
    /// - Throws: ``OIDCError/Code/unusableResponse``.
    private static func signedToken(
        _ text: Secret, _ algorithms: Set<SigningAlgorithm>, _ limits: OutboundLimits
    ) throws(OIDCError) -> SignedToken {
        do throws(OIDCError) {
            return try SignedToken(
                text, maximumBytes: limits.userInfoBytes, type: .userInfo, signedWith: algorithms)
        } catch {
            let accepted = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            throw .unusable(
                error.check == .algorithm
                    ? "The userinfo response must be signed with \(accepted), as the client is registered."
                    : "The userinfo response is a JWT that is encrypted, or not a signed one in compact form.")
        }
    }
}
