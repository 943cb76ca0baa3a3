import HTTPServer
import HTTPTypes
import Primitives

/// An operator's token endpoint (CAMARA Security and Interoperability Profile, Access Token Request). Clients
/// authenticate with `private_key_jwt` only. There are no refresh tokens.
struct OperatorTokenEndpoint: Sendable {
    static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// Of ID tokens: one factor, the SIM.
    static let acr = "1"

    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let codes = TokenEndpoint(simulator: simulator)
        return try await codes.serve(request) { site, form, thumbprint in
            try form.requireUniqueNames()
            let accessToken = simulator.random.token()
            let granted = try grant(request, form, site, codes, accessToken: accessToken, keyThumbprint: thumbprint)
            return try await tokens(
                granted, site, accessToken: accessToken, keyThumbprint: site.has(.dpopBearer) ? nil : thumbprint)
        }
    }

    private func grant(
        _ request: Request, _ form: Parameters, _ site: CarrierSite, _ codes: TokenEndpoint, accessToken: String,
        keyThumbprint: String?
    ) throws(OAuthError) -> OperatorGrant {
        let authenticator = ClientAuthenticator(simulator, operator: site, endpoint: site.tokenEndpoint)
        switch form["grant_type"] {
        case "authorization_code":
            let tokenRequest = try TokenRequest(request, form: form, authenticator: authenticator)
            let grant = try codes.redeem(tokenRequest, site: site, keyThumbprint: keyThumbprint)
            simulator.withState { $0.grants.update(tokenRequest.code) { $0.accessToken = accessToken } }
            return OperatorGrant(
                operatorName: site.mccmnc, terms: grant.terms, subscriber: grant.user, authentication: .network,
                approvedAt: grant.approvedAt)
        case Self.jwtBearer:
            guard site.carrier.operatorProfile?.acceptsJWTBearer ?? false
            else { throw OAuthError("unauthorized_client", "The client may not use this grant_type.") }
            return try grantOfAssertion(form, site)
        case TokenEndpoint.ciba:
            let client = try authenticator.client(of: request, form: form)
            guard
                case .byOperator(var grant) = try simulator.poll(
                    form, by: client, at: site, faults: OperatorBackchannelEndpoint.faults)
            else { throw OAuthError("invalid_grant", "The auth_req_id is not an operator's.") }
            grant.requestID = form["auth_req_id"]
            return grant
        case "client_credentials":
            return try grantOfClient(form, try authenticator.client(of: request, form: form), site)
        default: throw OAuthError("unsupported_grant_type", "The grant_type is not supported.")
        }
    }

    /// RFC 6749 section 4.4. The scope is required, and Number Verification needs a user.
    private func grantOfClient(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> OperatorGrant {
        let scopes = try OperatorScopes(form["scope"])
        guard !scopes.hasNumberVerification, !scopes.names.contains("openid")
        else { throw OAuthError("invalid_scope", "A scope needs a user.") }
        return OperatorGrant(
            operatorName: site.mccmnc, terms: scopes.terms(for: client), subscriber: nil, authentication: .none,
            approvedAt: simulator.clock.now())
    }

    private func tokens(
        _ granted: OperatorGrant, _ site: CarrierSite, accessToken: String, keyThumbprint: String?
    ) async throws -> Response {
        let (now, lifetime) = (simulator.clock.now(), site.carrier.accessTokenLifetime)
        var grant = granted
        grant.terms.scopes.removeAll { site.carrier.operatorProfile?.withheldScopes.contains($0) ?? false }
        let token = AccessToken(
            grant: grant, expiresAt: now.advanced(bySeconds: lifetime), keyThumbprint: keyThumbprint)
        simulator.withState { $0.operators.accessTokens.put(token, for: accessToken) }
        var members: JSONMembers = [
            "access_token": .string(accessToken), "token_type": keyThumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": .integer(lifetime), "scope": .string(grant.terms.scopes.joined(separator: " ")),
        ]
        if grant.terms.scopes.contains("openid"), let user = grant.subscriber,
            let client = simulator.clients[grant.terms.clientID]
        {
            let issuer = IDTokenIssuer(simulator: simulator, site: site, client: client)
            members["id_token"] = .string(
                try await issuer.issue(
                    for: Grant(mccmnc: site.mccmnc, terms: grant.terms, user: user, approvedAt: grant.approvedAt),
                    accessToken: accessToken, requestID: grant.requestID, now: now))
        }
        return site.tokenResponse(members)
    }
}

extension ClientAuthenticator {
    /// Of an operator's endpoint.
    init(_ simulator: CarrierSimulator, operator site: CarrierSite, endpoint: String) {
        self.init(simulator: simulator, site: site, audiences: [endpoint], limitsLifetime: true)
    }
}

/// JWTs as authorization grants (RFC 7523 section 2.1; CAMARA Security and Interoperability Profile, JWT Bearer Flow).
extension OperatorTokenEndpoint {
    /// The assertion authenticates the client, too.
    func grantOfAssertion(_ form: Parameters, _ site: CarrierSite) throws(OAuthError) -> OperatorGrant {
        guard !form.has("scope")
        else { throw .invalidRequest("The scope must be in the assertion, and not beside it.") }
        guard let text = form["assertion"],
            let assertion = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumAssertionBytes)
        else { throw .invalidRequest("The assertion is not a signed JWT.") }
        guard let client = assertion["iss"].flatMap({ simulator.clients[$0] }),
            case .privateKeyJWT(let pem, let keyID) = client.authentication, keyID == nil || keyID == assertion.keyID,
            assertion.isSigned(byKeyInPEM: pem)
        else { throw .invalidClient("The assertion's iss or signature is not that of a client.") }
        let seconds = simulator.clock.now().secondsSinceEpoch
        guard assertion["aud"] == site.tokenEndpoint else { throw Self.invalid("aud is not the token endpoint") }
        guard let issuedAt = assertion.claims["iat"]?.integer, issuedAt <= seconds + ReceivedJWS.clockSkew
        else { throw Self.invalid("iat is missing or in the future") }
        guard let expiry = assertion.claims["exp"]?.integer, seconds < expiry, expiry <= seconds + 300,
            expiry - issuedAt <= 300
        else { throw Self.invalid("exp is missing, past, or more than 300 seconds ahead") }
        let scopes = try OperatorScopes(assertion["scope"])
        guard let subject = assertion["sub"], ["tel:", "operatortoken:"].contains(where: subject.hasPrefix)
        else { throw Self.invalid("sub is neither tel: nor operatortoken:") }
        guard let id = assertion.assertionID,
            simulator.withState({ $0.isFirstUse(of: id, by: "\(site.mccmnc) \(client.id)") })
        else { throw Self.invalid("jti is missing or was used before") }
        if site.has(.operatorConsentRequired) { throw Self.invalid("subject has not consented") }
        let (user, authentication) = try simulator.subscriber(
            hintedBy: subject, at: site, or: Self.invalid("sub names no subscriber, or its token is used or expired"))
        return OperatorGrant(
            operatorName: site.mccmnc, terms: scopes.terms(for: client), subscriber: user,
            authentication: authentication, approvedAt: simulator.clock.now())
    }

    private static func invalid(_ fault: String) -> OAuthError {
        OAuthError("invalid_grant", "The assertion's \(fault).")
    }
}

struct OperatorScopes: Sendable {
    static let numberVerify = "number-verification:verify"
    static let numberShare = "number-verification:device-phone-number:read"
    static let simSwap = "sim-swap"
    static let simSwapCheck = "sim-swap:check"
    static let simSwapDate = "sim-swap:retrieve-date"
    static let telcoFinder = "telcofinder"

    static let ofNumberVerification = [numberVerify, numberShare]
    static let known =
        ["openid", "offline_access"] + ofNumberVerification + [simSwap, simSwapCheck, simSwapDate, telcoFinder]

    let names: [String]

    func terms(for client: CarrierSimulator.Client) -> GrantTerms {
        GrantTerms(clientID: client.id, scopes: names, acr: OperatorTokenEndpoint.acr)
    }

    var hasNumberVerification: Bool { names.contains(where: Self.ofNumberVerification.contains) }

    /// The scopes of a space-separated list with exactly one purpose (CAMARA Security and Interoperability Profile,
    /// Purpose as a scope).
    /// - Throws: `invalid_scope`.
    init(_ text: String?) throws(OAuthError) {
        let names = (text ?? "").split(separator: " ").map(String.init)
        guard !names.isEmpty else { throw OAuthError("invalid_scope", "There is no scope.") }
        guard Set(names).count == names.count else { throw OAuthError("invalid_scope", "A scope occurs twice.") }
        // Telco Finder is no CAMARA API, and has no purposes.
        guard names != [Self.telcoFinder] else {
            self.names = names
            return
        }
        let purposes = names.filter { $0.hasPrefix("dpv:") }
        guard names.allSatisfy({ Self.known.contains($0) || $0.hasPrefix("dpv:") })
        else { throw OAuthError("invalid_scope", "A scope is unknown.") }
        guard purposes.count == 1, let purpose = purposes.first,
            purpose.utf8.dropFirst(4).count > 0, purpose.dropFirst(4).allSatisfy({ $0.isASCII && $0.isLetter })
        else { throw OAuthError("invalid_scope", "There must be exactly one purpose, in the form dpv:PurposeOfDPV.") }
        self.names = names
    }
}
