import Primitives

/// A valid authorization request of the code flow (OpenID Connect Core section 3.1.2.1), with PKCE (RFC 7636).
struct AuthorizationRequest: Sendable {
    let terms: GrantTerms
    let returning: ReturnAddress
    let prompt: Set<String>
    /// The user that a `login_hint_token` of this carrier names.
    let hintedUserID: String?

    static let maximumTextBytes = 2048

    /// - Throws: ``OAuthError`` that a redirect carries to the relying party if the client and its redirect URI are
    ///   trusted (RFC 6749 section 4.1.2.1).
    static func parse(
        _ parameters: Parameters, at site: CarrierSite, of simulator: CarrierSimulator
    ) throws(OAuthError) -> AuthorizationRequest {
        let parameters = site.carrier.standIn?.translated(parameters) ?? parameters
        let (client, redirectURI) = try CarrierSimulator.Client.registered(parameters, in: simulator.clients)
        let mode = parameters["response_mode"] ?? "query"
        let returning = ReturnAddress(
            redirectURI: redirectURI, state: parameters["state"], correlationID: parameters["correlation_id"],
            clientID: client.id, isSigned: ["jwt", "query.jwt", "form_post.jwt"].contains(mode),
            isForm: ["form_post", "form_post.jwt"].contains(mode))
        return try OAuthError.returned(to: returning) { () throws(OAuthError) in
            if let standIn = site.carrier.standIn { return try parse(parameters, returning, at: standIn) }
            guard site.carrier.operatorProfile == nil
            else { return try parse(parameters, client, returning, atOperator: site, of: simulator) }
            return try parse(parameters, returning: returning, at: site, of: simulator)
        }
    }

    private static func parse(
        _ parameters: Parameters, returning: ReturnAddress, at site: CarrierSite, of simulator: CarrierSimulator
    ) throws(OAuthError) -> AuthorizationRequest {
        try parameters.requireUniqueNames()
        guard parameters.items.allSatisfy({ $0.value.utf8.count <= maximumTextBytes })
        else { throw .invalidRequest("A parameter is too long.") }
        guard parameters["response_type"] == "code"
        else { throw OAuthError("unsupported_response_type", "The response_type must be code.") }
        guard parameters["max_age"].map({ Int64($0).map { $0 >= 0 } ?? false }) ?? true
        else { throw .invalidRequest("The max_age is not a number of seconds.") }
        let hint = parameters["login_hint_token"].map { token in simulator.withState { $0.loginHints[token] } }
        guard hint.map({ $0?.mccmnc == site.mccmnc }) ?? true
        else { throw OAuthError("invalid_login_hint_token", "The login_hint_token is not one of this carrier's.") }
        let terms = GrantTerms(
            clientID: returning.clientID, redirectURI: returning.redirectURI,
            codeChallenge: try codeChallenge(parameters, site.carrier.codeChallenges),
            nonce: parameters["nonce"],
            scopes: try Scopes.parse(parameters["scope"] ?? "", ofOpenID: site.carrier.hasIDTokens),
            acr: try acr(parameters["acr_values"]), context: try context(parameters["context"]),
            keyThumbprint: try keyThumbprint(parameters))
        return AuthorizationRequest(
            terms: terms, returning: returning, prompt: try prompt(parameters), hintedUserID: hint??.userID)
    }

    /// `acr_values`, `login_hint` and unknown parameters are ignored.
    private static func parse(
        _ parameters: Parameters, _ client: CarrierSimulator.Client, _ outside: ReturnAddress,
        atOperator site: CarrierSite, of simulator: CarrierSimulator
    ) throws(OAuthError) -> AuthorizationRequest {
        try parameters.requireUniqueNames()
        let opened = try parameters.openedByProfile(
            at: site, endpoint: site.authorizationEndpoint, client: client, now: simulator.clock.now())
        var returning = outside
        returning.state = opened["state"]
        return try OAuthError.returned(to: returning) { () throws(OAuthError) in
            guard case .privateKeyJWT = client.authentication
            else { throw OAuthError("unauthorized_client", "The client is not registered for private_key_jwt.") }
            guard opened["response_type"] == "code"
            else { throw OAuthError("unsupported_response_type", "The response_type must be code.") }
            // Number Verification has no interaction: a prompt of none is implied.
            guard ["none", nil].contains(opened["prompt"])
            else { throw .invalidRequest("The operator shows no page: the prompt must be none.") }
            let terms = GrantTerms(
                clientID: client.id, redirectURI: returning.redirectURI, codeChallenge: try codeChallenge(opened),
                nonce: opened["nonce"], scopes: try OperatorScopes(opened["scope"], at: site).names,
                acr: TokenEndpoint.operatorACR, keyThumbprint: try keyThumbprint(opened))
            return AuthorizationRequest(terms: terms, returning: returning, prompt: ["none"], hintedUserID: nil)
        }
    }

    /// RFC 7636 sections 4.2 and 4.3; `plain` is not accepted.
    static func codeChallenge(
        _ parameters: Parameters, _ rule: CarrierSimulator.Carrier.CodeChallenges = .required
    ) throws(OAuthError) -> String {
        guard let challenge = parameters["code_challenge"] else {
            guard rule != .required else { throw .invalidRequest("PKCE is required.") }
            return ""
        }
        guard rule != .refused else { throw .invalidRequest("The code_challenge is not known here.") }
        guard parameters["code_challenge_method"] == "S256"
        else { throw .invalidRequest("The code_challenge_method must be S256.") }
        guard Base64URL.decode(challenge)?.count == 32
        else { throw .invalidRequest("The code_challenge is not a SHA-256 hash in base64url.") }
        return challenge
    }

    /// RFC 9449 section 10.
    private static func keyThumbprint(_ parameters: Parameters) throws(OAuthError) -> String? {
        guard !parameters.has("dpop_jkt") || parameters["dpop_jkt"].flatMap({ Base64URL.decode($0) })?.count == 32
        else { throw .invalidRequest("The dpop_jkt is not a thumbprint.") }
        return parameters["dpop_jkt"]
    }

    /// The first supported level of `acr_values`; a3 if the parameter is missing.
    static func acr(_ values: String?) throws(OAuthError) -> String {
        let levels = values?.split(separator: " ").map(String.init) ?? ["a3"]
        guard let level = levels.first(where: ProviderMetadata.acrValues.contains)
        else { throw .invalidRequest("None of the acr_values is supported.") }
        return level
    }

    /// - Throws: `invalid_request` for a `context` of more than 280 characters.
    static func context(_ context: String?) throws(OAuthError) -> String? {
        guard (context?.count ?? 0) <= 280 else { throw .invalidRequest("The context has more than 280 characters.") }
        return context
    }

    private static func prompt(_ parameters: Parameters) throws(OAuthError) -> Set<String> {
        let prompt = Set((parameters["prompt"] ?? "").split(separator: " ").map(String.init))
        guard prompt.isSubset(of: ["none", "login", "consent", "select_account"])
        else { throw .invalidRequest("The prompt is unknown.") }
        guard !prompt.contains("none") || prompt.count == 1
        else { throw .invalidRequest("A prompt of none excludes other values.") }
        return prompt
    }
}

/// Where the authorization response goes, and the request's values that it repeats.
struct ReturnAddress: Sendable {
    let redirectURI: String
    var state: String?
    var correlationID: String?
    let clientID: String
    /// Whether the response is a signed JWT (JARM).
    var isSigned = false
    /// Whether the browser posts it with a form (OAuth 2.0 Form Post Response Mode).
    var isForm = false
}

extension OAuthError {
    /// Has a redirect carry the errors of `body` to the relying party.
    static func returned<Value>(
        to address: ReturnAddress, _ body: () throws(OAuthError) -> Value
    ) throws(OAuthError) -> Value {
        do {
            return try body()
        } catch {
            var refusal = error
            refusal.returning = refusal.returning ?? address
            throw refusal
        }
    }
}

enum Scopes {
    /// ZenKey's names, each with the text of the consent page.
    static let known: [(name: String, meaning: String)] = [
        ("openid", "Proof that it is you"),
        ("name", "Your name"),
        ("profile", "Your name"),
        ("email", "Your e-mail address"),
        ("phone", "Your phone number"),
        ("address", "Your postal address"),
        ("birthdate", "Your date of birth"),
        ("postal_code", "Your postal code"),
        ("last_4_social", "The end of your social security number"),
        ("proofing", "Whether your carrier has checked who you are"),
        ("is_adult", "Whether you are an adult"),
        ("is_adult_18", "Whether you are 18 or older"),
        ("is_adult_21", "Whether you are 21 or older"),
        ("is_over_13", "Whether you are 13 or older"),
    ]

    static var names: [String] { known.map(\.name) }

    static func meaning(of scope: String) -> String { known.first { $0.name == scope }?.meaning ?? scope }

    /// The scopes of a space-separated list, each once.
    /// - Parameter ofOpenID: Whether only the known scopes are allowed; a provider without ID tokens allows any.
    /// - Throws: `invalid_scope` if `openid` is missing or a scope is unknown.
    static func parse(_ text: String, ofOpenID: Bool) throws(OAuthError) -> [String] {
        var scopes: [String] = []
        for scope in text.split(separator: " ").map(String.init) where !scopes.contains(scope) {
            guard !ofOpenID || names.contains(scope) else { throw .init("invalid_scope", "A scope is unknown.") }
            scopes.append(scope)
        }
        guard !ofOpenID || scopes.contains("openid")
        else { throw .init("invalid_scope", "The scope must contain openid.") }
        return scopes
    }
}
