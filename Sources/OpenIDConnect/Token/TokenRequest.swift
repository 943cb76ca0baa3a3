import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request to the token endpoint.
struct TokenRequest {
    /// What is exchanged for tokens.
    enum Grant {
        /// RFC 6749 section 4.1.3, RFC 7636 section 4.5.
        case authorizationCode(Secret, redirectURI: String, codeVerifier: CodeVerifier?)
        /// RFC 6749 section 6.
        case refreshToken(Secret)
    }

    let grant: Grant
    let client: ClientCredentials
    /// For carriers; nil for a provider that does not accept one.
    let correlationID: CorrelationID?

    /// - Parameter provider: Accepts the client's authentication method.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client's key cannot sign.
    func outbound(
        to provider: ProviderMetadata, limits: OutboundLimits, now: Timestamp, random: RandomSource
    ) throws(OIDCError) -> OutboundRequest {
        var form = items
        var headers = [
            (name: "Content-Type", value: "application/x-www-form-urlencoded"), ("Accept", "application/json"),
        ]
        switch client.authentication {
        case .clientSecretBasic(let secret, let encoding):
            // Without client_id in the form: one carrier refuses it beside Basic.
            headers.append(("Authorization", basic(secret, encoding)))
        case .clientSecretPost(let secret):
            form += [("client_id", client.clientID.text), ("client_secret", secret.exposed)]
        case .signedClientSecret(let secret):
            let text = try secret.text(for: client.clientID, now: now)
            form += [("client_id", client.clientID.text), ("client_secret", text.exposed)]
        case .publicClient:
            // RFC 6749 section 4.1.3: a client that does not authenticate names itself.
            form.append(("client_id", client.clientID.text))
        case .privateKeyJWT(let key, let audience):
            let assertion = try ClientAssertion.make(
                client.clientID, audience: provider.text(of: audience), id: random.token(bytes: 16), now: now, key: key)
            form += [
                ("client_id", client.clientID.text), ("client_assertion_type", ClientAssertion.type),
                ("client_assertion", assertion.exposed),
            ]
        }
        return OutboundRequest(
            method: .post, url: provider.tokenEndpoint, headers: headers, body: PercentEncoding.form(form),
            timeout: limits.tokenTimeout, maximumBodyBytes: limits.tokenBytes,
            destination: .init(carrier: provider.issuer, step: .token))
    }

    private var items: [(name: String, value: String)] {
        let correlation = correlationID.map { [(name: "correlation_id", value: $0.text)] } ?? []
        switch grant {
        case .authorizationCode(let code, let redirectURI, let codeVerifier):
            let verifier = codeVerifier.map { [(name: "code_verifier", value: $0.secret.exposed)] } ?? []
            return [("grant_type", "authorization_code"), ("code", code.exposed), ("redirect_uri", redirectURI)]
                + correlation + verifier
        case .refreshToken(let token):
            return [("grant_type", "refresh_token"), ("refresh_token", token.exposed)] + correlation
        }
    }

    /// RFC 6749 section 2.3.1: id and secret are encoded before, so that a colon in the id does not end it.
    private func basic(_ secret: Secret, _ encoding: BasicCredentialsEncoding) -> String {
        var pair: [UInt8] = []
        switch encoding {
        case .formURLEncoded:
            PercentEncoding.append(client.clientID.text, to: &pair)
            pair.append(UInt8(ascii: ":"))
            PercentEncoding.append(secret.exposed, to: &pair)
        case .plain: pair = Array("\(client.clientID.text):\(secret.exposed)".utf8)
        }
        return "Basic " + Data(pair).base64EncodedString()
    }
}

extension ClientCredentials {
    /// Whether the credentials of HTTP Basic differ by their encoding, so that a provider that does not decode them
    /// refuses the client.
    package var dependOnEncoding: Bool {
        guard case .clientSecretBasic(let secret, encoding: .formURLEncoded) = authentication else { return false }
        return !(clientID.text + secret.exposed).utf8.allSatisfy(PercentEncoding.isUnreserved)
    }

    /// What to do if a provider refuses such credentials.
    package static let encodingRemedy =
        "if the provider does not decode the percent-encoded id and secret of HTTP Basic (RFC 6749 section 2.3.1), set "
        + "client_secret_basic_encoding to plain"
}

extension ProviderMetadata {
    func text(of audience: ClientAssertionAudience) -> String {
        switch audience {
        case .tokenEndpoint: tokenEndpoint.text
        case .issuer: issuer
        }
    }

    /// Checks the client's authentication against what the provider lists. If it lists nothing, the configuration
    /// counts.
    package func check(_ authentication: ClientAuthentication) throws(OIDCError) {
        let method = authentication.method
        guard clientAuthenticationMethods?.contains(method) ?? true else {
            throw OIDCError(
                .clientRefused,
                reason: "The provider does not list \(method.rawValue) in token_endpoint_auth_methods_supported.")
        }
        guard case .privateKeyJWT(let key, _) = authentication else { return }
        guard assertionAlgorithms?.contains(key.algorithm) ?? true else {
            throw OIDCError(
                .clientRefused,
                reason:
                    "The provider does not list \(key.algorithm.rawValue) among its algorithms for client assertions.")
        }
    }
}
