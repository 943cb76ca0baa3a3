import HTTPServer
import HTTPTypes
import Primitives

/// An operator's token endpoint (CAMARA Security and Interoperability Profile, Access Token Request). Clients
/// authenticate with `private_key_jwt` only. There are no refresh tokens.
struct OperatorTokenEndpoint: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// Of ID tokens: one factor, the SIM.
    static let acr = "1"

    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        try await simulator.serveForm(.token, request, faults: "token-") { site, form in
            let codes = TokenEndpoint(simulator: simulator)
            if let refusal = codes.refusal(at: site) { throw refusal }
            try form.requireUniqueNames()
            let verifier = DPoPVerifier(simulator: simulator, site: site, server: .authorization)
            let thumbprint = try verifier.thumbprint(of: request, to: site.tokenEndpoint)
            guard thumbprint != nil || !site.requiresDPoP
            else { throw Refusal("invalid_dpop_proof", "There is no DPoP proof.") }
            let accessToken = simulator.random.token()
            let granted = try grant(request, form, site, codes, accessToken: accessToken, keyThumbprint: thumbprint)
            let response = try await tokens(
                granted, site, accessToken: accessToken, keyThumbprint: site.has(.dpopBearer) ? nil : thumbprint)
            return verifier.giving(nonceWith: response, hasProof: thumbprint != nil)
        }
    }

    /// What a request is granted, and the `auth_req_id` that it answers.
    struct Granted: Sendable {
        let grant: OperatorGrant
        var requestID: String?
    }

    private func grant(
        _ request: Request, _ form: Parameters, _ site: CarrierSite, _ codes: TokenEndpoint, accessToken: String,
        keyThumbprint: String?
    ) throws(Refusal) -> Granted {
        guard let profile = site.carrier.operatorProfile else { throw .invalidRequest("It is no operator.") }
        switch form["grant_type"] {
        case "authorization_code":
            let authenticator = ClientAuthenticator(simulator, operator: site, endpoint: site.tokenEndpoint)
            try authenticator.checkLifetime(form)
            let tokenRequest = try TokenRequest(request, form: form, authenticator: authenticator)
            let grant = try codes.redeem(tokenRequest, site: site, keyThumbprint: keyThumbprint)
            simulator.withState { $0.grants.update(tokenRequest.code) { $0.accessToken = accessToken } }
            return Granted(
                grant: OperatorGrant(
                    operatorName: site.mccmnc, clientID: grant.terms.clientID, scopes: grant.terms.scopes,
                    subscriber: grant.user, authentication: .network, approvedAt: grant.approvedAt,
                    nonce: grant.terms.nonce))
        case Self.jwtBearer where profile.acceptsJWTBearer: return Granted(grant: try grantOfAssertion(form, site))
        case TokenEndpoint.ciba where profile.acceptsBackchannel:
            let client = try client(of: request, form, site)
            return try grantOfPoll(form, client, site, now: simulator.clock.now())
        case "client_credentials" where profile.acceptsClientCredentials:
            let client = try client(of: request, form, site)
            return Granted(grant: try grantOfClient(form, client, site))
        case Self.jwtBearer, TokenEndpoint.ciba, "client_credentials":
            throw Refusal("unauthorized_client", "The client may not use this grant_type.")
        default: throw Refusal("unsupported_grant_type", "The grant_type is not supported.")
        }
    }

    private func client(
        of request: Request, _ form: Parameters, _ site: CarrierSite
    ) throws(Refusal) -> CarrierSimulator.Client {
        let authenticator = ClientAuthenticator(simulator, operator: site, endpoint: site.tokenEndpoint)
        try authenticator.checkLifetime(form)
        return try authenticator.client(of: request, form: form)
    }

    /// RFC 6749 section 4.4. The scope is required, and Number Verification needs a user.
    private func grantOfClient(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(Refusal) -> OperatorGrant {
        let scopes = try OperatorScopes(form["scope"])
        guard !scopes.hasNumberVerification, !scopes.names.contains("openid")
        else { throw Refusal("invalid_scope", "A scope needs a user.") }
        return OperatorGrant(
            operatorName: site.mccmnc, clientID: client.id, scopes: scopes.names, subscriber: nil,
            authentication: .none, approvedAt: simulator.clock.now())
    }

    private func tokens(
        _ granted: Granted, _ site: CarrierSite, accessToken: String, keyThumbprint: String?
    ) async throws -> Response {
        let (now, lifetime) = (simulator.clock.now(), site.carrier.accessTokenLifetime)
        var grant = granted.grant
        grant.scopes.removeAll { site.carrier.operatorProfile?.withheldScopes.contains($0) ?? false }
        let token = OperatorState.AccessToken(
            grant: grant, expiresAt: now.advanced(bySeconds: lifetime), keyThumbprint: keyThumbprint)
        simulator.withState { $0.operators.accessTokens.put(token, for: accessToken) }
        var members: JSONMembers = [
            "access_token": .string(accessToken), "token_type": keyThumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": .integer(lifetime), "scope": .string(grant.scopes.joined(separator: " ")),
        ]
        if grant.scopes.contains("openid"), let user = grant.subscriber,
            let client = simulator.clients[grant.clientID]
        {
            let terms = GrantTerms(
                clientID: grant.clientID, redirectURI: "", codeChallenge: "", nonce: grant.nonce, scopes: grant.scopes,
                acr: Self.acr, context: nil)
            let issuer = IDTokenIssuer(simulator: simulator, site: site, client: client)
            members["id_token"] = .string(
                try await issuer.issue(
                    for: Grant(mccmnc: site.mccmnc, terms: terms, user: user, approvedAt: grant.approvedAt),
                    accessToken: accessToken, requestID: granted.requestID, now: now))
        }
        return site.tokenResponse(members)
    }
}

extension ClientAuthenticator {
    /// Of an operator's endpoint.
    init(_ simulator: CarrierSimulator, operator site: CarrierSite, endpoint: String) {
        self.init(simulator: simulator, site: site, audiences: site.assertionAudiences(at: endpoint))
    }

    /// - Throws: `invalid_client` if an assertion's `exp` is more than 300 seconds after its `iat` (CAMARA Security and
    ///   Interoperability Profile, Client Authentication). An assertion that lacks one of them is checked elsewhere.
    func checkLifetime(_ form: Parameters) throws(Refusal) {
        guard let text = form["client_assertion"],
            let assertion = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumAssertionBytes),
            let issuedAt = assertion.claims["iat"]?.integer, let expiry = assertion.claims["exp"]?.integer
        else { return }
        guard expiry.subtractingReportingOverflow(issuedAt).partialValue <= 300
        else { throw .invalidClient("The client_assertion's exp is more than 300 seconds after its iat.") }
    }
}

/// JWTs as authorization grants (RFC 7523 section 2.1; CAMARA Security and Interoperability Profile, JWT Bearer Flow).
extension OperatorTokenEndpoint {
    /// The assertion authenticates the client, too.
    func grantOfAssertion(_ form: Parameters, _ site: CarrierSite) throws(Refusal) -> OperatorGrant {
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
        // The profile names the endpoint, whatever client assertions may have.
        guard assertion["aud"] == site.tokenEndpoint else { throw Self.invalid("aud is not the token endpoint") }
        guard let issuedAt = assertion.claims["iat"]?.integer, issuedAt <= seconds + ReceivedJWS.clockSkew
        else { throw Self.invalid("iat is missing or in the future") }
        guard let expiry = assertion.claims["exp"]?.integer, seconds < expiry, expiry <= seconds + 300,
            expiry - issuedAt <= 300
        else { throw Self.invalid("exp is missing, past, or more than 300 seconds ahead") }
        let scopes = try OperatorScopes(assertion["scope"])
        guard let subject = assertion["sub"], ["tel:", "operatortoken:"].contains(where: subject.hasPrefix)
        else { throw Self.invalid("sub is neither tel: nor operatortoken:") }
        guard assertion.assertionID != nil,
            ClientAuthenticator(simulator: simulator, site: site).recordID(of: assertion, client)
        else { throw Self.invalid("jti is missing or was used before") }
        if site.has(.operatorConsentRequired) { throw Self.invalid("subject has not consented") }
        let (user, authentication) = try simulator.subscriber(
            hintedBy: subject, at: site, or: Self.invalid("sub names no subscriber, or its token is used or expired"))
        return OperatorGrant(
            operatorName: site.mccmnc, clientID: client.id, scopes: scopes.names, subscriber: user,
            authentication: authentication, approvedAt: simulator.clock.now())
    }

    private static func invalid(_ fault: String) -> Refusal { Refusal("invalid_grant", "The assertion's \(fault).") }
}

/// The polls of backchannel authentication requests (CIBA Core sections 10.1 and 11).
extension OperatorTokenEndpoint {
    func grantOfPoll(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite, now: Timestamp
    ) throws(Refusal) -> Granted {
        let id = try form.requestID()
        let grant = try simulator.withState { state throws(Refusal) in
            try state.operators.backchannelRequests.poll(
                id, by: client.id, at: site, faults: OperatorBackchannelEndpoint.faults, now: now)
        }
        return Granted(grant: grant, requestID: id)
    }
}

/// The scopes of operators with CAMARA's APIs.
struct OperatorScopes: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

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

    var hasNumberVerification: Bool { names.contains(where: Self.ofNumberVerification.contains) }

    /// The scopes of a space-separated list with exactly one purpose (CAMARA Security and Interoperability Profile,
    /// Purpose as a scope).
    /// - Throws: `invalid_scope`.
    init(_ text: String?) throws(Refusal) {
        let names = (text ?? "").split(separator: " ").map(String.init)
        guard !names.isEmpty else { throw Refusal("invalid_scope", "There is no scope.") }
        guard Set(names).count == names.count else { throw Refusal("invalid_scope", "A scope occurs twice.") }
        // Telco Finder is no CAMARA API, and has no purposes.
        guard names != [Self.telcoFinder] else {
            self.names = names
            return
        }
        let purposes = names.filter { $0.hasPrefix("dpv:") }
        guard names.allSatisfy({ Self.known.contains($0) || $0.hasPrefix("dpv:") })
        else { throw Refusal("invalid_scope", "A scope is unknown.") }
        guard purposes.count == 1, let purpose = purposes.first,
            purpose.utf8.dropFirst(4).count > 0, purpose.dropFirst(4).allSatisfy({ $0.isASCII && $0.isLetter })
        else { throw Refusal("invalid_scope", "There must be exactly one purpose, in the form dpv:PurposeOfDPV.") }
        self.names = names
    }
}
