internal import OpenIDConnect
internal import Primitives
internal import SignIn

// Settings for providers that deviate from the specifications, and what they must fit.

extension ProviderDraft {
    /// The issuer as it is written.
    var templatedIssuer: TemplatedIssuer? {
        get { issuer.map { TemplatedIssuer(url: $0, template: issuerTemplate) } }
        set { (issuer, issuerTemplate) = (newValue?.url, newValue?.template) }
    }

    /// The nonce of the provider's requests, and of the clients that say nothing else.
    var nonce: ProviderNonce {
        get { rules.nonce == .off ? .off : client.rules.nonce == .issued ? .issued : .required }
        set {
            rules.nonce = newValue == .off ? .off : .required
            if newValue == .issued { client.rules.nonce = .issued }
        }
    }

    /// Sets the issuers of the tenants, after reporting what contradicts them. Metadata that all tenants share is at
    /// the tenant `common`, unless `metadata_url` says otherwise.
    mutating func readTenants(_ context: inout ReadingContext) {
        guard !place.isBroken else { return }
        guard let template = issuerTemplate else {
            return context.refuse(
                if: !tenants.isEmpty, place.origin, "has tenants, but its issuer has no {tenantid}",
                "write {tenantid} in the place of the tenant, or remove tenants")
        }
        guard kind == .oidc else {
            return context.refuse(place.origin, "has an issuer with {tenantid}, which is for oidc", "give its URL")
        }
        guard !tenants.isEmpty else {
            return context.refuse(
                place.origin, "has an issuer for several tenants, but no tenants",
                "list the ids of the tenants whose users may sign in, or write tenants: any")
        }
        guard tenants == ["any"] || !tenants.contains("any") else {
            return context.refuse(place.origin, "has any beside other tenants", "keep any, or the others")
        }
        rules.tenants = TenantIssuers(template, allowing: tenants == ["any"] ? nil : Set(tenants))
        if tenants.count == 1, let only = tenants.first, only != "any",
            let url = rules.tenants.flatMap({ EndpointURL($0.issuer(of: only), policy: context.policy) })
        {
            issuer = url
        }
        // No audience is the template.
        for index in clients.indices {
            guard clients[index].assertionAudience == .issuer else {
                clients[index].assertionAudience = clients[index].assertionAudience ?? .tokenEndpoint
                continue
            }
            context.beneath(key(ofClient: index)) {
                $0.refuse(
                    clients[index].place.origin,
                    "has assertion_audience: issuer, but the provider's issuer has {tenantid}",
                    "make it token_endpoint")
            }
        }
    }

    /// Refuses a parameter that has a fixed value and that apps may send.
    func refuseSharedParameters(_ clients: [Configuration.Client], _ context: inout ReadingContext) {
        let all = [rules.parameters] + clients.map(\.rules.parameters)
        let fixed = all.flatMap(\.fixed.keys)
        guard let name = all.flatMap(\.fromApps).first(where: fixed.contains) else { return }
        context.refuse(
            place.origin, "has \(name) in authorization_parameters and in request_parameters",
            "remove it from one of them")
    }

    /// Refuses requests that nothing would tie to their responses. A provider without PKCE must know the client by
    /// another proof: otherwise anyone could redeem its codes.
    func refuseUnbound(_ clients: [Configuration.Client], _ context: inout ReadingContext) {
        guard rules.nonce == .off || rules.pkce == .off else { return }
        context.refuse(
            if: kind == .oidc && rules.nonce == .off && rules.pkce == .off && !rules.acceptsStateAlone, place.origin,
            "has pkce: off and nonce: off, so that state alone ties a sign-in to its browser",
            "remove one of them, or set accept_state_alone to true")
        for client in clients {
            context.refuse(
                if: rules.pkce == .off && client.authentication == .publicClient, place.origin,
                "has pkce: off, but \(client.id.text) has no credential, so that anyone could redeem its codes",
                "give the client its secret or private_key, or remove pkce")
            context.refuse(
                if: rules.nonce == .off && client.rules.nonce == .issued, place.origin,
                "has nonce: off, but \(client.id.text) has nonce: issued", "remove one of them")
        }
    }
}

/// The words of the key `nonce` of a provider.
enum ProviderNonce: String, Sendable, CaseIterable { case required, issued, off }

extension ServerRules {
    /// The settings that take a defence away, each with what that means and what to do.
    func lostDefences(hasIDTokens: Bool) -> [(name: String, reason: String, remedy: String)] {
        var lost: [(String, String, String)] = []
        if let tenants, tenants.allowed == nil {
            lost.append(("tenants", "the users of every tenant can sign in", "list the ids of those that may"))
        }
        let remedy = "remove it as soon as the provider supports it"
        let hasNonce = hasIDTokens && nonce == .required
        switch pkce {
        case .off where hasNonce:
            lost.append(("pkce", "the nonce alone ties a code to its sign-in: a stolen one can be redeemed", remedy))
        case .off:
            lost.append(("pkce", "state alone ties a sign-in to its browser: a stolen code is enough", remedy))
        // Each client without PKCE has a warning.
        case .optional, .required: break
        }
        if hasIDTokens, !hasNonce, pkce != .off {
            lost.append(("nonce", "PKCE alone ties an ID token to its sign-in", remedy))
        }
        return lost
    }
}

extension InvalidValueError {
    /// Nil unless a tenant is one of Microsoft's names for several.
    init?(tenant text: String) {
        guard ["common", "organizations", "consumers"].contains(text) else { return nil }
        self.init(
            "\(text) is a name for several tenants, which no ID token has",
            "give the id of a tenant, or use the preset microsoft-tenants, whose tenants may be any; that of personal "
                + "Microsoft accounts is 9188040d-6c67-4c5b-b112-36a304b66dad")
    }
}

extension String {
    /// Whether it has the form of `11111111-2222-3333-4444-555555555555`.
    var isGUID: Bool {
        let parts = split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && parts.joined().utf8.allSatisfy { $0.hexadecimalValue != nil }
    }
}

/// An issuer, which may have a placeholder for the tenant.
struct TemplatedIssuer: Sendable {
    /// With `common` in the place of the placeholder.
    let url: EndpointURL
    /// With the placeholder; nil without one.
    let template: String?
}

extension ValueType {
    static var templatedIssuer: ValueType<TemplatedIssuer> {
        let issuer = ValueType<EndpointURL>.issuer
        return ValueType<TemplatedIssuer>(
            description: issuer.description, schema: issuer.schema, show: { $0.template ?? $0.url.text }
        ) { node, context in
            guard case .text(let text) = node.value, let tenants = TenantIssuers(text) else {
                return issuer.read(node, &context).map { TemplatedIssuer(url: $0, template: nil) }
            }
            let common = altered(node) { $0.value = .text(tenants.issuer(of: "common")) }
            return issuer.read(common, &context).map { TemplatedIssuer(url: $0, template: text) }
        }
    }

    /// `any`, or the id of a tenant. A GUID is in lower case in ID tokens.
    static var tenant: ValueType<String> {
        .scalar("any, or the id of a tenant", show: { $0 }) { (text, _) throws(InvalidValueError) in
            try require(TenantIssuers.isTenant(text), else: "is not the id of a tenant", "give one such as a GUID")
            if let error = InvalidValueError(tenant: text) { throw error }
            return text.isGUID ? text.lowercased() : text
        }
    }

    static var authorizationParameters: ValueType<[String: String]> {
        parameters { (name) throws(InvalidValueError) in
            try ParameterName.check(name, reserved: AuthorizationRequest.ownParameters)
        } value: { (name, text) throws(InvalidValueError) in
            let longest = AuthenticationDemand.longestMaximumAge
            try require(
                name != "max_age" || text.isDecimal && Int64(text).map { $0 <= longest } ?? false,
                else: "is not a number of seconds up to \(longest)", "give one such as 3600")
            // Of a known word beside others, only the known one would be sent.
            let words = text.split(ascii: " ").map(String.init)
            try require(
                name != "prompt" || Prompt.values(words) != nil || words.allSatisfy { Prompt(rawValue: $0) == nil },
                else: "has a value beside others that it cannot be with", "give it alone")
        }
    }

    static var logoutParameters: ValueType<[String: String]> {
        parameters { (name) throws(InvalidValueError) in
            try ParameterName.check(name, reserved: [])
        } value: { (_, text) throws(InvalidValueError) in
            let names = RelyingParty.logoutParameterNames.map { "{\($0)}" }
            try require(
                !text.utf8.contains(where: "{}".utf8.contains) || names.contains(text),
                else: "has a placeholder that there is not", "give a text, or one of \(names.joined(separator: ", "))")
        }
    }

    /// The name of a parameter that an app may send.
    static var requestParameter: ValueType<String> {
        .scalar("the name of a parameter", show: { $0 }) { (text, _) throws(InvalidValueError) in
            try ParameterName.check(text, reserved: AuthorizationRequest.ownParameters.union(ParameterName.ofStarts))
        }
    }
}

/// The names of parameters for providers.
private enum ParameterName {
    /// The further fields of a start, which an app may send anyway, or which are not for the provider.
    static let ofStarts = AuthorizationRequest.demandParameters.union([
        "client_type", "mccmnc", "mcc", "mnc", "operator", "phone_number", "tracking_id",
    ])

    static func check(_ text: String, reserved: Set<String>) throws(InvalidValueError) -> String {
        try require(
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(PercentEncoding.isUnreserved),
            else: "is not the name of a parameter", "use 1 to 64 letters, digits and . _ - ~")
        try require(
            !reserved.contains(text), else: "is a parameter that this server sets or reads itself",
            "remove it: it has its own setting, or its own field of the start")
        return text
    }
}
