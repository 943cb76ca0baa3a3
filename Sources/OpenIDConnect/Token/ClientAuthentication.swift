public import Primitives

/// How a client authenticates at the token endpoint, with its credential (OpenID Connect Core section 9, RFC
/// 8705 section 2).
///
/// A client has one method, so that no request can use two (RFC 6749 section 2.3).
public enum ClientAuthentication: Sendable, Hashable {
    /// HTTP Basic with client id and secret.
    case clientSecretBasic(Secret, encoding: BasicCredentialsEncoding = .formURLEncoded)
    /// Client id and secret in the form (RFC 6749 section 2.3.1).
    case clientSecretPost(Secret)
    /// A short-lived JWT that we sign (RFC 7523 section 2.2).
    case privateKeyJWT(ClientKey, audience: ClientAssertionAudience = .tokenEndpoint)
    /// As `client_secret_post`, with a secret that we sign.
    case signedClientSecret(SignedClientSecret)

    /// None: a public client names itself, and its code verifier alone ties the token request to it (RFC 6749 section
    /// 2.1, RFC 7636).
    case publicClient
    /// By a TLS certificate of an authority that the provider trusts (RFC 8705 section 2.1).
    case tlsClientAuth(ClientTLS)
    /// By a self-signed TLS certificate that the provider knows (RFC 8705 section 2.2).
    case selfSignedTLSClientAuth(ClientTLS)

    /// The method's registered name.
    public var method: ClientAuthenticationMethod {
        switch self {
        case .clientSecretBasic: .clientSecretBasic
        case .clientSecretPost, .signedClientSecret: .clientSecretPost
        case .privateKeyJWT: .privateKeyJWT
        case .publicClient: .publicClient
        case .tlsClientAuth: .tlsClientAuth
        case .selfSignedTLSClientAuth: .selfSignedTLSClientAuth
        }
    }
}

/// The methods by name, as a provider lists them in `token_endpoint_auth_methods_supported`.
public enum ClientAuthenticationMethod: String, Sendable, Hashable, CaseIterable {
    case clientSecretBasic = "client_secret_basic"
    case clientSecretPost = "client_secret_post"
    case privateKeyJWT = "private_key_jwt"
    case publicClient = "none"
    /// A TLS certificate of an authority (RFC 8705 section 2.1.1).
    case tlsClientAuth = "tls_client_auth"
    /// A self-signed TLS certificate (RFC 8705 section 2.2.1).
    case selfSignedTLSClientAuth = "self_signed_tls_client_auth"

    /// Whether the client authenticates by a TLS certificate.
    package var usesMutualTLS: Bool { self == .tlsClientAuth || self == .selfSignedTLSClientAuth }
}

/// How client id and secret are written before they become the credentials of HTTP Basic.
public enum BasicCredentialsEncoding: String, Sendable, Hashable, CaseIterable {
    /// Each form-urlencoded (RFC 6749 section 2.3.1).
    case formURLEncoded = "form_urlencoded"
    /// As they are, for providers that do not decode them. The id has no colon then.
    case plain
}

/// The audience of a client assertion, always a single one. RFC 7523 section 3 leaves it to the provider; OpenID
/// Connect Core section 9 recommends the token endpoint. The raw value is its name in the configuration.
public enum ClientAssertionAudience: String, Sendable, Hashable, CaseIterable {
    /// The provider's issuer, as RFC 10070 and FAPI 2.0 demand: a provider that names another one's endpoint as its own
    /// gets no assertion that the other one accepts. The assertion has the type of RFC 10070.
    case issuer
    /// The token endpoint's URL, at every endpoint.
    case tokenEndpoint = "token_endpoint"
    /// The URL of the endpoint that the request goes to.
    case endpoint

    /// The `typ` of an assertion for this audience. Verifiers that are older than RFC 10070 may know no other than JWT.
    var assertionType: String { self == .issuer ? "client-authentication+jwt" : "JWT" }
}

/// A client secret that is a JWT signed by the client, as in Sign in with Apple. It is sent in the form like any
/// secret.
///
/// A new one is made for each request, so that none has to be renewed before it expires.
public struct SignedClientSecret: Sendable, Hashable {
    /// In seconds.
    static let lifetime: Int64 = 300

    /// Its `iss`: the provider's id of the signer (with Apple, the team's id).
    public let issuer: String
    /// Its `aud`: the provider.
    public let audience: String
    /// Signs it.
    public let key: ClientKey

    /// The parameters of the secrets.
    public init(issuer: String, audience: String, key: ClientKey) {
        self.issuer = issuer
        self.audience = audience
        self.key = key
    }

    func text(for clientID: ClientID, now: Timestamp) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter()
        claims.add("iss", issuer)
        claims.add("sub", clientID.text)
        claims.add("aud", audience)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: Self.lifetime).secondsSinceEpoch)
        return try key.token(claims: claims.finish())
    }
}
