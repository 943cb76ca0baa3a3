public import Primitives

/// A successful response of the token endpoint (RFC 6749 section 5.1, OpenID Connect Core section 3.1.3.3).
public struct TokenResponse: Sendable, Hashable {
    /// The access token, of type Bearer or DPoP.
    public let accessToken: Secret
    /// The key that the access token is bound to (RFC 9449 section 5); nil for a Bearer token.
    public let accessTokenKey: DPoPKey?
    /// The key of the request's proof, which the refresh token may be bound to; nil if the request had none.
    public let proofKey: DPoPKey?
    /// A signed JWT in compact form. Nil from a provider without ID tokens; a response to a refresh may have none.
    public internal(set) var idToken: Secret?
    /// The refresh token, if the provider issued one.
    public let refreshToken: Secret?
    /// Seconds until the access token expires, if the provider says so.
    public let expiresIn: Int64?
    /// The granted scopes, if the provider names them.
    public let scope: String?
}

extension TokenResponse {
    /// Whether a response has an ID token.
    enum IDTokenPresence {
        /// The response to a code (OpenID Connect Core section 3.1.3.3).
        case required
        /// The response to a refresh token (OpenID Connect Core section 12.2).
        case optional
        /// The response of a provider without ID tokens. One that it sends nevertheless is not read.
        case ignored
    }

    /// Reads the token endpoint's response.
    ///
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` if the response is an error of
    ///   RFC 6749 section 5.2; ``OIDCError/Code/unusableResponse`` if it is neither that nor what section 5.1 and
    ///   OpenID Connect Core section 3.1.3.3 prescribe. The code may be spent in every case.
    ///
    /// - Parameters:
    ///   - presence: Whether the response has an ID token.
    ///   - mayLackType: Whether a response without `token_type` is one of a Bearer token, as many OAuth 2.0 providers
    ///     leave it out.
    ///   - proofKey: The key of the request's proof; nil if it had none. Then the token type DPoP is refused.
    ///   - mustBeBound: Whether a Bearer token is refused.
    init(
        _ response: OutboundResponse, limits: OutboundLimits, idToken presence: IDTokenPresence = .required,
        mayLackType: Bool = false, proofKey: DPoPKey? = nil, mustBeBound: Bool = false
    ) throws(OIDCError) {
        guard let object = ProviderResponse.object(response, maximumBytes: limits.tokenBytes) else {
            throw .unusable("The token endpoint's response, of status \(response.status), is not a JSON object.")
        }
        guard response.status == 200 else { throw Self.refusal(object, status: response.status) }
        // RFC 6749 section 3.1: an empty parameter counts as omitted.
        if let error = object["error"], !error.isNull, error != .string("") {
            guard Self.tokens.allSatisfy({ object[$0] == nil }) else {
                throw OIDCError(
                    .unusableResponse, carrierError: error.string, codeMayBeSpent: true,
                    reason: "The token endpoint's response has both an error and tokens.")
            }
            throw Self.refusal(object, status: 400)
        }
        // The characters that a Bearer header can carry (RFC 6750 section 2.1), and any other visible ones.
        guard let accessToken = object["access_token"]?.string, accessToken.isVisibleASCII() else {
            throw .unusable("The token endpoint's response has no access_token of visible ASCII characters.")
        }
        accessTokenKey = try Self.isBound(object["token_type"], mayLackType, proofKey, mustBeBound) ? proofKey : nil
        self.proofKey = proofKey
        self.accessToken = Secret(accessToken)
        idToken =
            switch presence {
            case .required: try Self.idToken(object)
            case .optional:
                object["id_token"].map { $0.isNull || $0 == .string("") } ?? true
                    ? nil : try Self.idToken(object)
            case .ignored: nil
            }
        expiresIn = try ProviderResponse.seconds(
            object["expires_in"],
            otherwise: .unusable("The token endpoint's response has an expires_in that is not a number of seconds."))
        refreshToken = object["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
        scope = object["scope"]?.string
    }

    private static let tokens = ["access_token", "id_token", "refresh_token"]

    /// Whether the token type is DPoP. RFC 6749 section 5.1: it is required, and compared without regard to case.
    private static func isBound(
        _ type: JSONValue?, _ mayLackType: Bool, _ proofKey: DPoPKey?, _ mustBeBound: Bool
    ) throws(OIDCError) -> Bool {
        switch type?.string?.lowercased() {
        case "dpop" where proofKey != nil: return true
        case "bearer" where !mustBeBound: return false
        case nil where type == nil && mayLackType && !mustBeBound: return false
        default:
            throw .unusable(
                "The token endpoint's response has a token_type other than \(mustBeBound ? "DPoP" : "Bearer").")
        }
    }

    private static func idToken(_ object: JSONObject) throws(OIDCError) -> Secret {
        guard let idToken = object["id_token"]?.string, !idToken.isEmpty else {
            throw .idTokenMissing
        }
        return Secret(idToken)
    }

    private static func refusal(_ object: JSONObject, status: Int) -> OIDCError {
        ProviderResponse.refusal(object, status: status, by: "token endpoint", of: "grant", codeMayBeSpent: true)
            ?? OIDCError(
                .unusableResponse, carrierError: object["error"]?.string, codeMayBeSpent: true,
                reason: "The token endpoint responded with neither tokens nor an error of RFC 6749 section 5.2.")
    }
}

extension OIDCError {
    /// A provider with ID tokens responded without one.
    package static let idTokenMissing = unusable("The token endpoint's response has no id_token.")
}

/// The response to a refresh (RFC 6749 section 6, OpenID Connect Core section 12.1).
public struct RefreshResponse: Sendable {
    /// The new tokens.
    public let tokens: TokenResponse
    /// Why the ID token of the response could not be validated; nil if it is valid, or if there is none. The tokens
    /// must be kept then, because the earlier refresh token may be spent, and must not be used before
    /// ``RelyingParty/validate(refreshed:accessToken:receivedAt:client:of:signedWith:provider:correlationID:)`` accepts
    /// the ID token.
    public let unverified: OIDCError?
}
