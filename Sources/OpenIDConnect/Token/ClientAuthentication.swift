public import Primitives

/// How we prove at a token endpoint who we are, with what proves it (OpenID Connect Core section 9).
///
/// A client has one of them, so that no request can carry two (RFC 6749 section 2.3).
public enum ClientAuthentication: Sendable, Hashable {
    /// HTTP Basic with client id and secret, each form-urlencoded first (RFC 6749 section 2.3.1).
    case clientSecretBasic(Secret)
    /// Client id and secret in the form (RFC 6749 section 2.3.1).
    case clientSecretPost(Secret)
    /// A short-lived JWT that we sign (RFC 7523 section 2.2).
    case privateKeyJWT(ClientKey, audience: ClientAssertionAudience = .tokenEndpoint)
    /// As `client_secret_post`, with a secret that we sign.
    case signedClientSecret(SignedClientSecret)

    public var method: ClientAuthenticationMethod {
        switch self {
        case .clientSecretBasic: .clientSecretBasic
        case .clientSecretPost, .signedClientSecret: .clientSecretPost
        case .privateKeyJWT: .privateKeyJWT
        }
    }
}

/// The methods by name, as a provider lists them in `token_endpoint_auth_methods_supported`.
public enum ClientAuthenticationMethod: String, Sendable, Hashable, CaseIterable {
    case clientSecretBasic = "client_secret_basic"
    case clientSecretPost = "client_secret_post"
    case privateKeyJWT = "private_key_jwt"
}

/// Whom a client assertion is for. RFC 7523 section 3 allows either; OpenID Connect Core section 9 recommends the token
/// endpoint, and newer profiles take nothing but the issuer.
public enum ClientAssertionAudience: String, Sendable, Hashable, CaseIterable {
    case tokenEndpoint = "token_endpoint"
    case issuer
}
