public import Primitives

/// A client registered with a provider, and its authentication.
public struct ClientCredentials: Sendable, Hashable {
    public let clientID: ClientID
    public let authentication: ClientAuthentication
    /// How its ID tokens are encrypted; nil if they are not.
    public let idTokenDecryption: ResponseDecryption?
    /// How its userinfo is encrypted; nil if it is not.
    public let userInfoDecryption: ResponseDecryption?
    /// The certificate that it authenticates with, or that its tokens can be bound to; nil if it has none.
    public let clientTLS: ClientTLS?

    /// A client with its authentication.
    /// - Parameter clientTLS: By default what it authenticates with, if that is a certificate.
    public init(
        clientID: ClientID, authentication: ClientAuthentication, idTokenDecryption: ResponseDecryption? = nil,
        userInfoDecryption: ResponseDecryption? = nil, clientTLS: ClientTLS? = nil
    ) {
        self.clientID = clientID
        self.authentication = authentication
        self.idTokenDecryption = idTokenDecryption
        self.userInfoDecryption = userInfoDecryption
        switch authentication {
        case .tlsClientAuth(let own), .selfSignedTLSClientAuth(let own): self.clientTLS = own
        case .clientSecretBasic, .clientSecretPost, .privateKeyJWT, .signedClientSecret, .publicClient:
            self.clientTLS = clientTLS
        }
    }

    /// The signed token in an ID token of the client, which is the ID token itself if encryption is not registered
    /// (OpenID Connect Core section 16.14: signed, then encrypted).
    /// - Throws: ``IDTokenCheck/encryption``.
    package func signedToken(in idToken: Secret, rules: IDTokenRules) throws(OIDCError) -> Secret {
        guard let idTokenDecryption else { return idToken }
        guard let signed = idTokenDecryption.content(of: idToken, maximumBytes: rules.maximumBytes) else {
            throw .failed(.encryption)
        }
        return signed
    }

    /// How long a client assertion is valid, in seconds. Short, because it is sent with one request at once.
    private static let assertionLifetime: Int64 = 60
    /// How long a signed client secret is valid, in seconds.
    private static let signedSecretLifetime: Int64 = 300
    /// How long an assertion about a user is valid, in seconds. The profile allows 300 at most.
    private static let userAssertionLifetime: Int64 = 60

    /// Adds to a form what authenticates the client: at the token endpoint (RFC 6749 section 2.3), and in the same way
    /// at the pushed authorization request endpoint (RFC 9126 section 2).
    ///
    /// - Parameters:
    ///   - form: `client_id` is added where the method needs it and the form lacks it.
    ///   - provider: Accepts the client's authentication method.
    ///   - id: Of a client assertion. Unique: a provider refuses a second use.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client's key cannot sign.
    func authenticate(
        _ form: inout [(name: String, value: String)], _ headers: inout [(name: String, value: String)],
        to url: EndpointURL, of provider: ProviderMetadata, id: @autoclosure () -> String, now: Timestamp
    ) throws(OIDCError) {
        // A client that does not authenticate names itself, too (RFC 6749 section 4.1.3). With Basic the form has no
        // client_id of its own: one provider refuses it there.
        if authentication.method != .clientSecretBasic, !form.contains(where: { $0.name == "client_id" }) {
            form.append(("client_id", clientID.text))
        }
        switch authentication {
        case .clientSecretBasic(let secret, let encoding): headers.append(("Authorization", basic(secret, encoding)))
        case .clientSecretPost(let secret): form.append(("client_secret", secret.exposed))
        case .signedClientSecret(let key, let issuer, let audience):
            let secret = try key.assertion(
                issuer: issuer, subject: clientID.text, audience: audience, lifetime: Self.signedSecretLifetime,
                now: now)
            form.append(("client_secret", secret.exposed))
        // The certificate authenticates the client that the form names (RFC 8705 section 2).
        case .publicClient, .tlsClientAuth, .selfSignedTLSClientAuth: break
        // RFC 7523 sections 2.2 and 3, OpenID Connect Core section 9.
        case .privateKeyJWT(let key, let audience):
            let assertion = try key.assertion(
                type: audience.assertionType, issuer: clientID.text, subject: clientID.text,
                audience: provider.text(of: audience, at: url), id: id(), lifetime: Self.assertionLifetime, now: now
            ) {
                // Not in the specification: ZenKey's carriers require it.
                $0.add("client_id", clientID.text)
            }
            form.append(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"))
            form.append(("client_assertion", assertion.exposed))
        }
    }

    /// The JWT that stands for a user at the token endpoint, and for the client itself (RFC 7523 section 2.1, with the
    /// claims of the CAMARA Security and Interoperability Profile r4.2, section "JWT Bearer Flow").
    /// - Parameters:
    ///   - endpoint: The URL that the request goes to, which is the audience.
    ///   - id: Unique: an operator refuses a second use.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client has no key, or its key cannot sign.
    func assertion(
        about subject: Secret, scopes: [String], to endpoint: EndpointURL, id: String, now: Timestamp
    ) throws(OIDCError) -> Secret {
        guard case .privateKeyJWT(let key, _) = authentication else {
            throw OIDCError(.clientRefused, reason: "An operator token needs a client with private_key_jwt.")
        }
        return try key.assertion(
            issuer: clientID.text, subject: subject.exposed, audience: endpoint.text, id: id,
            lifetime: Self.userAssertionLifetime, now: now
        ) { $0.add("scope", scopes.joined(separator: " ")) }
    }

    /// RFC 6749 section 2.3.1: id and secret are encoded before, so that a colon in the id does not end it.
    private func basic(_ secret: Secret, _ encoding: BasicCredentialsEncoding) -> String {
        var pair: [UInt8] = []
        switch encoding {
        case .formURLEncoded:
            PercentEncoding.append(clientID.text, to: &pair)
            pair.append(UInt8(ascii: ":"))
            PercentEncoding.append(secret.exposed, to: &pair)
        case .plain: pair = Array("\(clientID.text):\(secret.exposed)".utf8)
        }
        return "Basic " + Base64.encode(pair)
    }

    /// Whether the credentials of HTTP Basic differ by their encoding, so that a provider that does not decode them
    /// refuses the client.
    package var dependOnEncoding: Bool {
        guard case .clientSecretBasic(let secret, encoding: .formURLEncoded) = authentication else { return false }
        return !(clientID.text + secret.exposed).utf8.allSatisfy(PercentEncoding.isUnreserved)
    }

    /// Reads the response to a request with these credentials. A refusal of the client gets a possible reason.
    func explaining<Value>(_ read: @autoclosure () throws(OIDCError) -> Value) throws(OIDCError) -> Value {
        do throws(OIDCError) {
            return try read()
        } catch {
            guard error.carrierError == "invalid_client", dependOnEncoding else { throw error }
            throw error.adding("The encoding may be the reason: \(Self.encodingRemedy).")
        }
    }

    package static let encodingRemedy =
        "if the provider does not decode the percent-encoded id and secret of HTTP Basic (RFC 6749 section 2.3.1), set "
        + "client_secret_basic_encoding to plain"
}

/// A client identifier (RFC 6749 section 2.2): 1 to 255 printable ASCII characters (VSCHAR).
public struct ClientID: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// An identifier, or nil if it is empty, too long, or has a character that RFC 6749 appendix A.1 does not allow.
    public init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy(\.isPrintableASCII) else {
            return nil
        }
        self.text = text
    }

    public var description: String { text }
}

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
    /// As `client_secret_post`, with a secret that is a JWT signed by the client, as in Sign in with Apple. The issuer
    /// is the provider's id of the signer (with Apple, the team's id), and the audience is the provider.
    ///
    /// A new one is made for each request, so that none has to be renewed before it expires.
    case signedClientSecret(ClientKey, issuer: String, audience: String)

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

extension ProviderMetadata {
    fileprivate func text(of audience: ClientAssertionAudience, at endpoint: EndpointURL) -> String {
        switch audience {
        case .issuer: issuer
        case .tokenEndpoint: tokenEndpoint.text
        case .endpoint: endpoint.text
        }
    }

    /// Checks the client's authentication against what the provider lists. If it lists nothing, the configuration
    /// counts.
    package func check(_ authentication: ClientAuthentication) throws(OIDCError) {
        let method = authentication.method
        // Many providers with public clients list the ways of others only.
        guard method == .publicClient || clientAuthenticationMethods?.contains(method) ?? true else {
            throw .notListed("\(method.rawValue) in token_endpoint_auth_methods_supported")
        }
        guard case .privateKeyJWT(let key, _) = authentication else { return }
        guard assertionAlgorithms?.contains(key.algorithm) ?? true else {
            throw .notListed("\(key.algorithm.rawValue) among its algorithms for client assertions")
        }
    }
}

/// Tokens that are bound to the client's certificate (RFC 8705 section 3).
///
/// A client that authenticates by its certificate presents it with every setting but ``ExtensionUse/never``, which
/// contradicts it.
extension ClientCredentials {
    /// What requests of the client present at a provider: at its endpoints, and at resources; nil for nothing.
    /// - Parameter setting: ``ExtensionUse/auto`` presents the certificate if the client authenticates by it, or the
    ///   metadata says that tokens can be bound to it.
    package func clientTLS(at provider: ProviderMetadata, _ setting: ExtensionUse) -> ClientTLS? {
        let isUsual = authentication.method.usesMutualTLS || provider.demands.certificateBoundTokens
        return setting.applies(ifDemanded: isUsual) ? clientTLS : nil
    }

    /// Refuses what ``ExtensionUse/always`` does not allow.
    /// - Throws: ``OIDCError/Code/clientRefused`` if there must be a certificate and there is none;
    ///   ``OIDCError/Code/metadataRefused`` if tokens must be bound and the provider does not say that it can.
    package func checkClientTLS(at provider: ProviderMetadata, _ setting: ExtensionUse) throws(OIDCError) {
        guard setting == .always else { return }
        guard clientTLS != nil else {
            throw OIDCError(.clientRefused, reason: "The client has no certificate to bind its tokens to.")
        }
        guard provider.demands.certificateBoundTokens else {
            throw MetadataReader.refused("tls_client_certificate_bound_access_tokens")
        }
    }
}
