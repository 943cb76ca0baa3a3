import Primitives

/// The grants that only operators have (CAMARA Security and Interoperability Profile, Access Token Request). Clients
/// authenticate with `private_key_jwt` only.
extension TokenEndpoint {
    static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// Of ID tokens: one factor, the SIM.
    static let operatorACR = "1"

    /// RFC 6749 section 4.4. The scope is required, and Number Verification needs a user.
    func grantOfClient(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> Grant {
        let scopes = try OperatorScopes(form["scope"], at: site)
        guard !scopes.names.contains(where: (OperatorScopes.ofNumberVerification + ["openid"]).contains)
        else { throw OAuthError("invalid_scope", "A scope needs a user.") }
        return Grant(
            mccmnc: site.mccmnc, terms: scopes.terms(for: client), user: nil, isAuthenticated: false,
            approvedAt: simulator.clock.now())
    }

    /// JWTs as authorization grants (RFC 7523 section 2.1; JWT Bearer Flow of the profile). The assertion authenticates
    /// the client, too.
    func grantOfAssertion(_ form: Parameters, _ site: CarrierSite) throws(OAuthError) -> Grant {
        guard site.carrier.operatorProfile?.acceptsJWTBearer ?? false
        else { throw OAuthError("unauthorized_client", "The client may not use this grant_type.") }
        guard !form.has("scope")
        else { throw .invalidRequest("The scope must be in the assertion, and not beside it.") }
        guard let text = form["assertion"],
            let assertion = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumAssertionBytes)
        else { throw .invalidRequest("The assertion is not a signed JWT.") }
        guard let client = assertion["iss"].flatMap({ simulator.clients[$0] }),
            case .privateKeyJWT(let pem, let keyID) = client.authentication, keyID == nil || keyID == assertion.keyID,
            assertion.isSigned(byKeyInPEM: pem)
        else { throw .invalidClient("The assertion's iss or signature is not that of a client.") }
        if let fault = simulator.fault(of: assertion, by: client, at: site, audiences: [site.tokenEndpoint]) {
            throw Self.invalid("\(fault) is missing, invalid or used")
        }
        let scopes = try OperatorScopes(assertion["scope"], at: site)
        if site.has(.operatorConsentRequired) { throw Self.invalid("subject has not consented") }
        let (user, isAuthenticated) = try simulator.subscriber(
            hintedBy: assertion["sub"] ?? "", at: site,
            or: Self.invalid("sub names no subscriber, or its token is used or expired"))
        return Grant(
            mccmnc: site.mccmnc, terms: scopes.terms(for: client), user: user, isAuthenticated: isAuthenticated,
            approvedAt: simulator.clock.now())
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
        GrantTerms(clientID: client.id, scopes: names, acr: TokenEndpoint.operatorACR)
    }

    /// The scopes of a space-separated list with exactly one purpose (CAMARA Security and Interoperability Profile,
    /// Purpose as a scope), or in the form that the operator has instead.
    /// - Throws: `invalid_scope`.
    init(_ text: String?, at site: CarrierSite) throws(OAuthError) {
        let form = site.carrier.operatorProfile?.scopeForm ?? .separate
        let names = try form.separated((text ?? "").split(separator: " ").map(String.init))
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

extension CarrierSimulator.OperatorProfile.ScopeForm {
    /// The names of the operations in version 0.
    private static let namesInV0 = [
        "number-verification-share-read": OperatorScopes.numberShare,
        "number-verification-verify-read": OperatorScopes.numberVerify, "check-sim-swap": OperatorScopes.simSwapCheck,
        "retrieve-sim-swap-date": OperatorScopes.simSwapDate,
    ]

    /// The scopes as the profile has them: the purpose and the operations by themselves.
    /// - Throws: `invalid_scope` if they do not have this form.
    fileprivate func separated(_ names: [String]) throws(OAuthError) -> [String] {
        guard self != .separate, names != [OperatorScopes.telcoFinder] else { return names }
        var separated: [String] = []
        for name in names where name != "openid" {
            let parts = name.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
            guard parts[0].hasPrefix("dpv:"), parts.count == (self == .purpose ? 1 : 2)
            else { throw OAuthError("invalid_scope", "A scope does not have this operator's form.") }
            if !separated.contains(parts[0]) { separated.append(parts[0]) }
            guard self != .purpose else { continue }
            guard let operation = self == .combined ? parts[1] : Self.namesInV0[parts[1]]
            else { throw OAuthError("invalid_scope", "A scope names no operation.") }
            separated.append(operation)
        }
        guard names.contains("openid")
        else { return self == .purpose ? separated + [OperatorScopes.simSwapCheck] : separated }
        return ["openid"] + separated + (self == .purpose ? OperatorScopes.ofNumberVerification : [])
    }
}
