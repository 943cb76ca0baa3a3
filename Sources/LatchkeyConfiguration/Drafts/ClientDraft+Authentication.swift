internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// How a client authenticates at the token endpoint.
extension ClientDraft {
    func authentication(_ context: inout ReadingContext) throws(InvalidValueError) -> ClientAuthentication {
        if secretIssuer != nil || secretAudience != nil { return try signedSecret() }
        let hasNone = method == nil && secret == nil && privateKey.key == nil && rules.clientTLS == nil && !hasIDTokens
        if method == .publicClient || hasNone { return try publicClient(&context) }
        let method = method ?? usualMethod
        if method.usesMutualTLS { return try mutualTLS(method) }
        if method == .privateKeyJWT {
            guard let key = privateKey.named else {
                throw InvalidValueError(
                    "has no private_key", "give it or private_key_file, or another way to authenticate")
            }
            return .privateKeyJWT(key, audience: assertionAudience ?? usualAudience)
        }
        guard let secret else {
            let others =
                kind == .zenkey
                ? "secret_file, or LATCHKEY_ZENKEY_CLIENTS"
                : "secret_file (in the section of a provider client_secret or client_secret_file), or signed_secret"
            throw InvalidValueError("has no secret", "give it, or \(others)")
        }
        guard method == .clientSecretBasic else { return .clientSecretPost(secret) }
        return .clientSecretBasic(secret, encoding: basicEncoding ?? .formURLEncoded)
    }

    /// How the client authenticates if the file does not say it.
    private var usualMethod: ClientAuthenticationMethod {
        guard secret == nil else { return .clientSecretBasic }
        if privateKey.key != nil { return .privateKeyJWT }
        guard let certificate = rules.clientTLS?.certificate else { return .clientSecretBasic }
        return certificate.isSelfIssued ? .selfSignedTLSClientAuth : .tlsClientAuth
    }

    private var usualAudience: ClientAssertionAudience {
        switch kind {
        case .zenkey, .oauth2, .aggregator: .tokenEndpoint
        case .oidc: .issuer
        case .camara, .firebasePNV: .endpoint
        }
    }

    private func mutualTLS(_ method: ClientAuthenticationMethod) throws(InvalidValueError) -> ClientAuthentication {
        guard let clientTLS = rules.clientTLS else {
            throw InvalidValueError(
                "has token_endpoint_auth_method: \(method.rawValue), but no certificate_file",
                "give it and certificate_key_file, or another way to authenticate")
        }
        try require(
            secret == nil, else: "has a secret, and token_endpoint_auth_method: \(method.rawValue)",
            "remove the one or the other")
        guard method == .selfSignedTLSClientAuth else { return .tlsClientAuth(clientTLS) }
        try require(
            clientTLS.certificate.writePublicKey != nil,
            else: "has a self-signed certificate whose key is not RSA of 2048 to 8192 bits, P-256 or Ed25519",
            "make one with such a key: the provider knows it by /.well-known/jwks.json")
        return .selfSignedTLSClientAuth(clientTLS)
    }

    /// A client without a credential. PKCE then is what keeps a stolen code from being redeemed.
    private func publicClient(_ context: inout ReadingContext) throws(InvalidValueError) -> ClientAuthentication {
        try require(
            [.oidc, .oauth2].contains(kind),
            else: "has token_endpoint_auth_method: none, which is for providers of kind oidc or oauth2",
            "give its secret or private_key")
        try require(
            secret == nil && privateKey.key == nil, else: "has a secret or a key, and token_endpoint_auth_method: none",
            "remove the one or the other")
        try require(
            rules.pkce == .required, else: "has neither a secret nor PKCE, so that anyone could redeem its codes",
            "remove pkce: optional")
        if method == nil {
            context.warn(
                place.origin, "has no secret, so that it is a public client, protected by PKCE alone",
                "give its secret; or write token_endpoint_auth_method: none if the provider issued none")
        }
        return .publicClient
    }

    private func signedSecret() throws(InvalidValueError) -> ClientAuthentication {
        guard let secretIssuer, let secretAudience, let key = privateKey.named else {
            throw InvalidValueError(
                "lacks a part of its signed_secret",
                "give its issuer and audience, and private_key or private_key_file")
        }
        try require(
            secret == nil && (method == nil || method == .clientSecretPost),
            else: "has a signed_secret and another way to authenticate",
            "remove secret and token_endpoint_auth_method, or signed_secret")
        return .signedClientSecret(key, issuer: secretIssuer, audience: secretAudience.text)
    }

    /// `client_secret_basic_encoding` must fit the client's way to authenticate and its id.
    func checkEncoding(of id: ClientID, _ authentication: ClientAuthentication) throws(InvalidValueError) {
        guard let basicEncoding else { return }
        guard case .clientSecretBasic = authentication else {
            throw InvalidValueError(
                "has client_secret_basic_encoding, and does not use client_secret_basic",
                "remove it, or set token_endpoint_auth_method to client_secret_basic")
        }
        try require(
            basicEncoding == .formURLEncoded || !id.text.utf8.contains(UInt8(ascii: ":")),
            else: "has client_secret_basic_encoding: plain, and a colon in its id, which would end the id",
            "use client_secret_post if the provider has it")
    }
}
