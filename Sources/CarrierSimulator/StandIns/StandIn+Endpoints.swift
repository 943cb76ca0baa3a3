import HTTPServer
import HTTPTypes
import Primitives

// What the endpoints of a stand-in do otherwise than those of the simulator's own providers.

extension Grant {
    /// Nil for a client's own grant.
    var facts: CarrierSimulator.StandIn.Facts? { user.map { .init(user: $0, terms: terms, subject: subject) } }
}

extension AuthorizationRequest {
    /// The parameters that RFC 6749, RFC 7636 and OpenID Connect Core have for every provider.
    private static let usualParameters: Set<String> = [
        "client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge", "code_challenge_method",
    ]

    static func parse(
        _ parameters: Parameters, _ returning: ReturnAddress, at standIn: CarrierSimulator.StandIn
    ) throws(OAuthError) -> AuthorizationRequest {
        try parameters.requireUniqueNames()
        guard parameters["response_type"] == "code"
        else { throw OAuthError("unsupported_response_type", "The response_type must be code.") }
        let names = Set(parameters.items.map(\.name))
        if let known = standIn.knownParameters,
            let name = names.subtracting(known).subtracting(usualParameters).min()
        {
            throw .invalidRequest("The parameter \(name) is not allowed.")
        }
        for (name, value) in standIn.demandedParameters.sorted(by: { $0.key < $1.key }) {
            guard parameters[name] == value else { throw .invalidRequest("The parameter \(name) must be \(value).") }
        }
        let scopes = (parameters["scope"] ?? "").split(separator: standIn.scopeSeparator).map(String.init)
        if let known = standIn.scopes, !known.isSuperset(of: scopes) {
            throw OAuthError("invalid_scope", "A scope is unknown, or scopes are not separated as they must be.")
        }
        guard !standIn.isOpenID || scopes.contains("openid")
        else { throw OAuthError("invalid_scope", "The scope must contain openid.") }
        let challenge = if let rule = standIn.pkce { try codeChallenge(parameters, rule) } else { "" }
        var terms = GrantTerms(
            clientID: returning.clientID, redirectURI: returning.redirectURI, codeChallenge: challenge,
            nonce: standIn.repeatsNonce ? parameters["nonce"] : nil, scopes: scopes, acr: "")
        terms.sharesSubjects = standIn.changeNativeToken != nil
        terms.isOffline =
            switch standIn.refresh {
            case .always: true
            case .never: false
            case .scope(let scope): scopes.contains(scope)
            case .parameter(let name, let value): parameters[name] == value
            }
        return AuthorizationRequest(terms: terms, returning: returning, prompt: [], hintedUserID: nil)
    }
}

extension CarrierSimulator {
    /// The parameters that a stand-in adds to the first response about a user, and never again.
    func firstParameters(with code: String, at site: CarrierSite) -> [(name: String, value: String?)] {
        guard let standIn = site.carrier.standIn, let facts = withState({ $0.grants[code]?.facts }) else { return [] }
        let parameters = standIn.firstParameters(facts)
        guard !parameters.isEmpty, withState({ $0.isFirstUse(of: facts.subject, by: site.mccmnc) }) else { return [] }
        return parameters
    }

    /// `GET {issuer}/emails`: a stand-in's second response about a user.
    func respondWithEmails(_ request: Request) async throws -> Response {
        try await serve(.resource, request, faults: "resource-") { site in
            try withGrant(of: request, site: site) { grant, _ in
                guard let emails = site.carrier.standIn?.emails, let facts = grant.facts else {
                    throw OAuthError("not_found", "The provider has no such endpoint.", status: .notFound)
                }
                return Response(status: .ok, contentType: "application/json", text: emails(facts).text)
            }
        }
    }
}

extension TokenEndpoint {
    func respond(
        to request: Request, _ form: Parameters, at site: CarrierSite, as standIn: CarrierSimulator.StandIn
    ) async throws -> Response {
        do {
            guard (request.method == .get) == standIn.takesGET
            else { throw OAuthError.invalidRequest("The method of the token request is wrong.") }
            let granted = try granted(request, standIn.translated(form), site)
            var tokens = try await simulator.tokens(for: granted, at: site)
            if let facts = granted.grant.facts { standIn.changeTokens(&tokens, facts) }
            return site.tokenResponse(tokens)
        } catch let refusal as OAuthError {
            guard let body = standIn.tokenRefusal?(refusal.code) else { throw refusal }
            simulator.note(refusal, of: .token, at: site)
            return .json(body)
        }
    }

    private func granted(
        _ request: Request, _ form: Parameters, _ site: CarrierSite
    ) throws(OAuthError) -> TokenGrant {
        try form.requireUniqueNames()
        // WeChat's refresh has no secret.
        if site.carrier.standIn?.takesGET ?? false, form["grant_type"] == "refresh_token" {
            guard let client = form["client_id"].flatMap({ simulator.clients[$0] })
            else { throw .invalidClient("The client is unknown.") }
            return try grantOfRefresh(form, client, site, keyThumbprint: nil)
        }
        let client = try ClientAuthenticator(simulator: simulator, site: site, endpoint: site.tokenEndpoint)
            .client(of: request, form: form)
        switch form["grant_type"] {
        case "authorization_code": return try grantOfCode(form, client, site, keyThumbprint: nil)
        case "refresh_token": return try grantOfRefresh(form, client, site, keyThumbprint: nil)
        default: throw OAuthError("unsupported_grant_type", "The grant_type is not supported.")
        }
    }
}

extension ClientAuthenticator {
    /// The longest life of a signed secret, in seconds: six months, as Apple has it.
    private static let maximumLifetime: Int64 = 15_777_000

    /// A client whose secret is a JWT of its own, as in Sign in with Apple.
    func clientOfSignedSecret(_ secret: String, _ id: String) throws(OAuthError) -> Client {
        let now = simulator.clock.now().secondsSinceEpoch
        guard let client = simulator.clients[id], let pem = client.publicKeyPEM,
            let token = ReceivedJWS(secret, maximumBytes: ReceivedJWS.maximumAssertionBytes),
            token.header["alg"]?.string == "ES256", token.keyID != nil, token["iss"] != nil, token["sub"] == id,
            token["aud"]?.hasPrefix("https://") ?? false, let expiry = token.claims["exp"]?.integer,
            (now...now + Self.maximumLifetime).contains(expiry), token.isSigned(byKeyInPEM: pem)
        else { throw .invalidClient("The client_secret is not a JWT of ES256 of this client.") }
        return client
    }
}

extension ProviderMetadata {
    static func document(of site: CarrierSite, _ standIn: CarrierSimulator.StandIn) -> JSONMembers {
        var document: JSONMembers = [
            "issuer": .string(site.issuer + standIn.issuerPath),
            "authorization_endpoint": .string(site.authorizationEndpoint),
            "token_endpoint": .string(site.tokenEndpoint), "jwks_uri": .string(site.issuer + "/jwks"),
            "response_types_supported": ["code"], "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": [.string(site.carrier.signingAlgorithm.rawValue)],
            "token_endpoint_auth_methods_supported": .texts(standIn.authenticationMethods),
        ]
        if standIn.user != nil { document["userinfo_endpoint"] = .string(site.issuer + "/userinfo") }
        if standIn.revokes { document["revocation_endpoint"] = .string(site.issuer + "/revoke") }
        if let scopes = standIn.scopes { document["scopes_supported"] = .texts(scopes.sorted()) }
        if standIn.pkce == .required || standIn.pkce == .optional {
            document["code_challenge_methods_supported"] = ["S256"]
        }
        if standIn.namesIssuer { document["authorization_response_iss_parameter_supported"] = true }
        if ![.none, .kakao].contains(standIn.logout) {
            document["end_session_endpoint"] = .string(site.issuer + "/logout")
        }
        return document
    }
}

extension LogoutEndpoints {
    /// The response where it is another than OpenID Connect's; nil where it is that.
    func endedSession(
        _ parameters: Parameters, _ standIn: CarrierSimulator.StandIn
    ) throws(OAuthError) -> Response? {
        switch standIn.logout {
        case .standard: return nil
        case .withoutHint:
            guard !parameters.has("id_token_hint")
            else { throw OAuthError.invalidRequest("The id_token_hint is not accepted.") }
            return nil
        case .none: throw OAuthError("not_found", "The provider has no logout.", status: .notFound)
        case .cognito, .kakao:
            let name = standIn.logout == .cognito ? "logout_uri" : "logout_redirect_uri"
            guard let client = parameters["client_id"].flatMap({ simulator.clients[$0] }),
                let uri = parameters[name], client.allowsAfterLogout(uri)
            else { throw OAuthError.invalidRequest("There must be client_id and a registered \(name).") }
            return .redirect(to: standIn.logout == .cognito ? uri : uri.adding([("state", parameters["state"])]))
        }
    }
}
