import HTTPServer
import HTTPTypes
import Primitives

struct TokenEndpoint: Sendable {
    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        try await serve(request) { site, form, thumbprint in
            guard request.clientCertificate != nil || !site.carrier.bindsTokensToCertificates
            else { throw OAuthError.invalidRequest("There is no client certificate to bind the tokens to.") }
            if !site.carrier.isCarrier, form["grant_type"] == "refresh_token" {
                let response = try await refresh(request, form, site, keyThumbprint: thumbprint)
                if site.has(.refreshLate) { try await simulator.pause(site.carrier.delay) }
                return response
            }
            let granted = try granted(request, form, site, keyThumbprint: thumbprint)
            return try await tokens(
                granted, site: site, correlationID: form["correlation_id"],
                keyThumbprint: site.has(.dpopBearer) ? nil : thumbprint,
                certificate: site.certificate(toBind: request))
        }
    }

    /// Serves the token endpoint of a carrier, operator or provider, which knows the key of the request's proof.
    func serve(
        _ request: Request, _ respond: (CarrierSite, Parameters, _ keyThumbprint: String?) async throws -> Response
    ) async throws -> Response {
        try await simulator.serveForm(.token, request, faults: "token-") { site, form in
            if site.has(.token503) {
                var response = Response.brokenPage(.serviceUnavailable)
                response.headers[.retryAfter] = "7"
                return response
            }
            if let refusal = refusal(at: site) { throw refusal }
            let verifier = DPoPVerifier(simulator: simulator, site: site, server: .authorization)
            // Before the code or the refresh token is used, so that it is good after a demand for a nonce.
            let thumbprint = try verifier.thumbprint(of: request, to: site.tokenEndpoint)
            guard thumbprint != nil || !site.requiresDPoP
            else { throw OAuthError("invalid_dpop_proof", "There is no DPoP proof.") }
            return verifier.giving(
                nonceWith: try await respond(site, form, thumbprint), hasProof: thumbprint != nil)
        }
    }

    private struct Granted {
        let grant: Grant
        let client: CarrierSimulator.Client
        /// The code that it redeemed.
        var code: String?
        /// The `auth_req_id` that the ID token repeats. Only the mode push demands that (CIBA Core section 10.3.1).
        var requestID: String?
    }

    private func granted(
        _ request: Request, _ form: Parameters, _ site: CarrierSite, keyThumbprint: String?
    ) throws(OAuthError) -> Granted {
        if site.hasBackchannelAuthentication, form["grant_type"] == Self.ciba {
            let (grant, client) = try grantOfPoll(request, form, site)
            return Granted(
                grant: grant, client: client, requestID: site.has(.idTokenOtherRequestID) ? form["auth_req_id"] : nil)
        }
        let tokenRequest = try TokenRequest(
            request, form: form, authenticator: ClientAuthenticator(simulator: simulator, site: site))
        return Granted(
            grant: try redeem(tokenRequest, site: site, keyThumbprint: keyThumbprint), client: tokenRequest.client,
            code: tokenRequest.code)
    }

    static func form(of request: Request) throws(OAuthError) -> Parameters {
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
        else { throw .invalidRequest("Content-Type must be application/x-www-form-urlencoded.") }
        return try Parameters(contentOf: request)
    }

    /// Redeems the code and checks the redirect URI and the code verifier. A wrong one spends the code, because the
    /// sender is not the client that requested it.
    func redeem(_ request: TokenRequest, site: CarrierSite, keyThumbprint: String?) throws(OAuthError) -> Grant {
        let now = simulator.clock.now()
        let grant = try simulator.withState { state throws(OAuthError) in
            try state.redeem(
                code: request.code, clientID: request.client.id, mccmnc: site.mccmnc, now: now,
                acceptsUsedCodes: site.has(.tokenReusableCode))
        }
        guard grant.terms.redirectURI.hasSameBytes(as: request.redirectURI)
        else { throw .init("invalid_grant", "The redirect_uri is not that of the authorization request.") }
        guard
            !site.carrier.checksCodeVerifier
                || request.codeVerifier.map(Digest.codeChallenge) == grant.terms.codeChallenge
        else { throw .init(site.carrier.wrongVerifierError.rawValue, "The code_verifier is wrong.") }
        // RFC 9449 section 10.
        guard !site.supportsDPoP || grant.terms.keyThumbprint.map({ $0 == keyThumbprint }) ?? true
        else { throw .init("invalid_grant", "The code is bound to another key.") }
        return grant
    }

    private func tokens(
        _ granted: Granted, site: CarrierSite, correlationID: String?, keyThumbprint: String?, certificate: String?
    ) async throws -> Response {
        let grant = granted.grant
        let now = simulator.clock.now()
        let (accessToken, refreshToken) = (simulator.random.token(), simulator.random.token())
        let lifetime = site.carrier.accessTokenLifetime
        simulator.withState { state in
            state.accessTokens.put(
                .init(
                    grant: grant, expiresAt: now.advanced(bySeconds: lifetime), family: refreshToken,
                    keyThumbprint: keyThumbprint, certificate: certificate), for: accessToken)
            if let code = granted.code { state.grants.update(code) { $0.accessToken = accessToken } }
            guard !site.carrier.isCarrier else { return }
            state.refreshTokens.put(
                .init(grant: grant, family: refreshToken, keyThumbprint: keyThumbprint), for: refreshToken)
        }
        var members: JSONMembers = [
            "access_token": .string(accessToken), "token_type": keyThumbprint == nil ? "Bearer" : "DPoP",
            "refresh_token": .string(refreshToken),
            "expires_in": site.carrier.writesExpiresInAsText ? .string("\(lifetime)") : .integer(lifetime),
            "scope": .string(grant.terms.scopes.joined(separator: " ")),
        ]
        if site.carrier.hasIDTokens {
            let issuer = IDTokenIssuer(simulator: simulator, site: site, client: granted.client)
            members["id_token"] = .string(
                try await issuer.issue(for: grant, accessToken: accessToken, requestID: granted.requestID, now: now))
        }
        members["correlation_id"] = .string(correlationID)
        return site.tokenResponse(members)
    }

    /// The faults that refuse every request.
    private func refusal(at site: CarrierSite) -> OAuthError? {
        if let code = site.carrier.tokenRefusal { return OAuthError(code, "The simulator is set to refuse.") }
        if site.has(.tokenInvalidClient) { return .invalidClient("The client is unknown.") }
        if site.has(.tokenInvalidGrant) { return OAuthError("invalid_grant", "The code is unknown.") }
        if site.has(.tokenTemporarilyUnavailable) {
            return OAuthError("temporarily_unavailable", "The carrier is too busy.")
        }
        return nil
    }
}

extension CarrierSite {
    /// The fingerprint of the certificate that the tokens of a request are bound to; nil for none.
    func certificate(toBind request: Request) -> String? {
        carrier.bindsTokensToCertificates ? request.clientCertificate?.fingerprint : nil
    }
}

/// A valid token request (RFC 6749 section 4.1.3, RFC 7636 section 4.5) of an authenticated client.
struct TokenRequest: Sendable {
    let client: CarrierSimulator.Client
    let code: String
    let redirectURI: String
    /// Nil only where the carrier does not check it.
    let codeVerifier: String?

    init(_ request: Request, form: Parameters, authenticator: ClientAuthenticator) throws(OAuthError) {
        client = try authenticator.client(of: request, form: form)
        try form.requireUniqueNames()
        guard form["grant_type"] == "authorization_code"
        else { throw OAuthError("unsupported_grant_type", "The grant_type must be authorization_code.") }
        guard let code = form["code"] else { throw .invalidRequest("There is no code.") }
        guard let redirectURI = form["redirect_uri"] else { throw .invalidRequest("There is no redirect_uri.") }
        let verifier = form["code_verifier"]
        if authenticator.site.carrier.checksCodeVerifier {
            guard let verifier else { throw .invalidRequest("There is no code_verifier.") }
            guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(PercentEncoding.isUnreserved)
            else { throw .invalidRequest("The code_verifier is not 43 to 128 unreserved characters.") }
        }
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = verifier
    }
}
