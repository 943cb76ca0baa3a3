internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// How a client authenticates at the token endpoint.
extension ClientDraft {
    func authentication(
        _ context: inout ReadingContext, _ secretRemedy: String, hasIDTokens: Bool,
        assertionAudience audience: ClientAssertionAudience
    ) -> ClientAuthentication? {
        if secretIssuer != nil || secretAudience != nil { return signedSecret(&context) }
        let hasNone = method == nil && secret == nil && privateKey == nil && clientTLS == nil && !hasIDTokens
        if method == .publicClient || hasNone { return publicClient(&context, hasIDTokens: hasIDTokens) }
        let method = method ?? usualMethod
        if method.usesMutualTLS { return mutualTLS(method, &context) }
        if method == .privateKeyJWT {
            guard let key = namedKey else {
                context.refuse(
                    origin, "has no private_key", "give it or private_key_file, or another way to authenticate")
                return nil
            }
            return .privateKeyJWT(key, audience: assertionAudience ?? audience)
        }
        guard let secret else {
            context.refuse(origin, "has no secret", secretRemedy)
            return nil
        }
        guard method == .clientSecretBasic else { return .clientSecretPost(secret) }
        return .clientSecretBasic(secret, encoding: basicEncoding ?? .formURLEncoded)
    }

    /// How the client authenticates if the file does not say it.
    private var usualMethod: ClientAuthenticationMethod {
        guard secret == nil else { return .clientSecretBasic }
        if privateKey != nil { return .privateKeyJWT }
        guard let certificate = clientTLS?.certificate else { return .clientSecretBasic }
        return certificate.isSelfIssued ? .selfSignedTLSClientAuth : .tlsClientAuth
    }

    private func mutualTLS(
        _ method: ClientAuthenticationMethod, _ context: inout ReadingContext
    ) -> ClientAuthentication? {
        guard let clientTLS else {
            context.refuse(
                origin, "has token_endpoint_auth_method: \(method.rawValue), but no certificate_file",
                "give it and certificate_key_file, or another way to authenticate")
            return nil
        }
        guard secret == nil else {
            context.refuse(
                origin, "has a secret, and token_endpoint_auth_method: \(method.rawValue)",
                "remove the one or the other")
            return nil
        }
        guard method == .selfSignedTLSClientAuth else { return .tlsClientAuth(clientTLS) }
        guard clientTLS.certificate.isPublishable else {
            context.refuse(
                origin, "has a self-signed certificate whose key is not RSA of 2048 to 8192 bits, P-256 or Ed25519",
                "make one with such a key: the provider knows it by /.well-known/jwks.json")
            return nil
        }
        return .selfSignedTLSClientAuth(clientTLS)
    }

    /// A client without a credential. PKCE then is what keeps a stolen code from being redeemed.
    private func publicClient(_ context: inout ReadingContext, hasIDTokens: Bool) -> ClientAuthentication? {
        guard !hasIDTokens else {
            context.refuse(
                origin, "has token_endpoint_auth_method: none, which is for providers of kind oauth2",
                "give its secret or private_key")
            return nil
        }
        guard secret == nil, privateKey == nil else {
            context.refuse(
                origin, "has a secret or a key, and token_endpoint_auth_method: none", "remove the one or the other")
            return nil
        }
        guard pkce == .required else {
            context.refuse(
                origin, "has neither a secret nor PKCE, so that anyone could redeem its codes", "remove pkce: optional")
            return nil
        }
        if method == nil {
            context.warn(
                origin, "has no secret, so that it is a public client, protected by PKCE alone",
                "give its secret; or write token_endpoint_auth_method: none if the provider issued none")
        }
        return .publicClient
    }

    private func signedSecret(_ context: inout ReadingContext) -> ClientAuthentication? {
        guard let secretIssuer, let secretAudience, let key = namedKey else {
            context.refuse(
                origin, "lacks a part of its signed_secret",
                "give its issuer and audience, and private_key or private_key_file")
            return nil
        }
        guard secret == nil, method == nil || method == .clientSecretPost else {
            context.refuse(
                origin, "has a signed_secret and another way to authenticate",
                "remove secret and token_endpoint_auth_method, or signed_secret")
            return nil
        }
        return .signedClientSecret(SignedClientSecret(issuer: secretIssuer, audience: secretAudience.text, key: key))
    }

    /// Whether `client_secret_basic_encoding` fits the client's way to authenticate and its id.
    func hasFittingEncoding(
        _ id: ClientID, _ authentication: ClientAuthentication, _ context: inout ReadingContext
    ) -> Bool {
        guard let basicEncoding else { return true }
        guard case .clientSecretBasic = authentication else {
            context.refuse(
                origin, "has client_secret_basic_encoding, and does not use client_secret_basic",
                "remove it, or set token_endpoint_auth_method to client_secret_basic")
            return false
        }
        guard basicEncoding == .formURLEncoded || !id.text.utf8.contains(UInt8(ascii: ":")) else {
            context.refuse(
                origin, "has client_secret_basic_encoding: plain, and a colon in its id, which would end the id",
                "use client_secret_post if the provider has it")
            return false
        }
        return true
    }
}
