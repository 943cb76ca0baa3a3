import Primitives

/// How a client authenticates with a form: at the token endpoint (RFC 6749 section 2.3), and in the same way at the
/// pushed authorization request endpoint (RFC 9126 section 2).
extension ClientCredentials {
    /// A form that authenticates the client.
    ///
    /// - Parameters:
    ///   - items: The parameters of the request. `client_id` is added where the method needs it and they lack it.
    ///   - clientTLS: What the request presents.
    ///   - provider: Accepts the client's authentication method.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client's key cannot sign.
    func request(
        _ items: [(name: String, value: String)], to url: EndpointURL, presenting clientTLS: ClientTLS?,
        step: OutboundRequest.Destination.Step, of provider: ProviderMetadata, limits: OutboundLimits, now: Timestamp,
        random: RandomSource
    ) throws(OIDCError) -> OutboundRequest {
        var form = items
        var headers: [(name: String, value: String)] = []
        // A client that does not authenticate names itself, too (RFC 6749 section 4.1.3). With Basic the form has no
        // client_id of its own: one provider refuses it there.
        if authentication.method != .clientSecretBasic, !items.contains(where: { $0.name == "client_id" }) {
            form.append(("client_id", clientID.text))
        }
        switch authentication {
        case .clientSecretBasic(let secret, let encoding): headers.append(("Authorization", basic(secret, encoding)))
        case .clientSecretPost(let secret): form.append(("client_secret", secret.exposed))
        case .signedClientSecret(let secret):
            form.append(("client_secret", try secret.text(for: clientID, now: now).exposed))
        // The certificate authenticates the client that the form names (RFC 8705 section 2).
        case .publicClient, .tlsClientAuth, .selfSignedTLSClientAuth: break
        case .privateKeyJWT(let key, let audience):
            let assertion = try ClientAssertion.make(
                clientID, type: audience.assertionType, audience: provider.text(of: audience, at: url),
                id: random.token(bytes: 16), now: now, key: key)
            form += [("client_assertion_type", ClientAssertion.type), ("client_assertion", assertion.exposed)]
        }
        return Self.request(
            form, adding: headers, to: url, presenting: clientTLS, step: step, of: provider, limits: limits)
    }

    /// A form without the authentication of a client.
    static func request(
        _ form: [(name: String, value: String)], adding headers: [(name: String, value: String)] = [],
        to url: EndpointURL, presenting clientTLS: ClientTLS?, step: OutboundRequest.Destination.Step,
        of provider: ProviderMetadata, limits: OutboundLimits
    ) -> OutboundRequest {
        var request = OutboundRequest(
            method: .post, url: url,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")] + headers,
            body: PercentEncoding.form(form), timeout: limits.tokenTimeout, maximumBodyBytes: limits.tokenBytes,
            destination: .init(carrier: provider.issuer, step: step))
        request.clientTLS = clientTLS
        return request
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

    /// An error of a request with these credentials, with a possible reason.
    func explained(_ error: OIDCError) -> OIDCError {
        error.carrierError == "invalid_client" && dependOnEncoding
            ? error.adding("The encoding may be the reason: \(Self.encodingRemedy).") : error
    }

    /// What to do if a provider refuses such credentials.
    package static let encodingRemedy =
        "if the provider does not decode the percent-encoded id and secret of HTTP Basic (RFC 6749 section 2.3.1), set "
        + "client_secret_basic_encoding to plain"
}

extension ProviderMetadata {
    /// The audience of an assertion in a request to an endpoint.
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

/// The JWT that authenticates a client (RFC 7523 sections 2.2 and 3, OpenID Connect Core section 9).
enum ClientAssertion {
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// In seconds. Short, because it is sent with one request at once.
    static let lifetime: Int64 = 60

    /// - Parameters:
    ///   - tokenType: The header's `typ`.
    ///   - id: Unique: a provider refuses a second use.
    static func make(
        _ clientID: ClientID, type tokenType: String, audience: String, id: String, now: Timestamp, key: ClientKey
    ) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter()
        claims.add("iss", clientID.text)
        claims.add("sub", clientID.text)
        // Not in the specification: ZenKey's carriers require it.
        claims.add("client_id", clientID.text)
        claims.add("aud", audience)
        claims.add("jti", id)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: lifetime).secondsSinceEpoch)
        return try key.token(type: tokenType, claims: claims.finish())
    }
}
