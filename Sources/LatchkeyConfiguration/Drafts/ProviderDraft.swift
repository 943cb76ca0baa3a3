internal import OpenIDConnect
package import Primitives
package import SignIn

/// A provider of `providers`, or one of several in its section, while it is read. What a kind of provider does not have
/// is left as it is.
package struct ProviderDraft: GroupDraft {
    package var id = ""
    var kind = ProviderKind.oidc
    var name = ""
    var preset: String?
    var color: String?
    package var issuer: EndpointURL?
    /// The issuer with the placeholder of a tenant, if it has one.
    var issuerTemplate: String?
    /// Their ids, or `any`.
    var tenants: [String] = []
    var userEndpoint: EndpointURL?
    var subject: UserEndpoint.Member?
    var emailsEndpoint: EndpointURL?
    var profile: SecurityProfile?
    package var rules = ServerRules()
    var clients: [ClientDraft] = []
    /// What all clients have; without a list of clients, the only one. Of a kind that a feature brings this server.
    package var client = ClientDraft()
    package var place = GroupPlace()
    var ofFeatures = FeatureValues()

    /// What the keys of a feature have said, by the type of the value.
    package subscript<Value: Sendable>(_ type: Value.Type) -> Value? {
        get { ofFeatures[type] }
        set { ofFeatures[type] = newValue }
    }

    /// The key that holds the providers.
    static let setting = Setting<Configuration>(
        name: "providers", type: "a group of providers", schema: .group(of: .definition("provider"), isText: true),
        isSecret: true,
        meaning:
            "Ways to sign in other than the carriers, each under its name in paths. The variable, or a separate file, "
            + "holds YAML or JSON.",
        set: { node, configuration, context in
            guard let entries = entries(of: node, &context) else { return }
            configuration.providers = entries.flatMap { read($0, &context) }
        }, show: { $0.providers.map { "\($0.id) (\($0.kind.rawValue))" }.joined(separator: ",") })

    /// The providers by name, from the file or from a text that is itself YAML or JSON.
    private static func entries(of node: ConfigurationNode, _ context: inout ReadingContext) -> [ConfigurationEntry]? {
        switch node.value {
        case .mapping(let entries): return entries
        case .text(let text):
            do throws(YAMLDocument.YAMLError) {
                return try YAMLDocument.read(Array(text.utf8), path: "\(node.origin)")
            } catch {
                context.refuse(node.origin, error.reason, error.remedy)
            }
        case .list, .empty:
            context.refuse(node.origin, "is \(node.kind)", "give a group of providers, each under its name")
        }
        return nil
    }

    /// The provider, or several of a kind that a feature brings; none after reporting what is wrong.
    private static func read(_ entry: ConfigurationEntry, _ context: inout ReadingContext) -> [Configuration.Provider] {
        context.beneath("." + (Printable.name(entry.name) ?? "(unnamed)")) { context in
            let id = entry.name
            guard (1...32).contains(id.utf8.count), id.consists(of: .lowerCaseAndDigits + "-"), id != "zenkey" else {
                context.refuse(
                    entry.origin, "is not the name of a provider",
                    "use 1 to 32 lower-case letters, digits and hyphens; zenkey is the carriers' name")
                return []
            }
            guard let given = entry.node.entries else {
                context.refuse(
                    entry.origin, "is \(entry.node.kind), but it is a group of keys", "write its keys below it")
                return []
            }
            guard let entries = ProviderPreset.complete(entry, given, &context) else { return [] }
            var draft = ProviderDraft()
            (draft.id, draft.name) = (id, id)
            // It decides which other keys there are.
            let kind = entries.lazy.filter { $0.name == "kind" }.compactMap { ProviderKind($0.node) }.first
            if let kind { draft.kind = kind }
            let reader = kind.flatMap(context.settings.reader)
            if let kind, reader == nil, ![.oidc, .oauth2].contains(kind) {
                let demand = context.settings.demand(of: kind)
                context.refuse(entry.origin, demand.reason, demand.remedy)
                return []
            }
            SettingsReader.read(
                entries, at: entry.origin, context.settings.ofProviders, of: kind, requiring: kind != nil, into: &draft,
                &context)
            guard kind != nil else { return [] }
            guard let reader else { return draft.finished(&context).map { [$0] } ?? [] }
            return draft.place.isBroken ? [] : reader(&draft, &context)
        }
    }

    /// The provider, or nil after reporting what is wrong.
    private mutating func finished(_ context: inout ReadingContext) -> Configuration.Provider? {
        let before = context.problems.count
        takeOnlyClient(&context)
        if let profile { meet(profile, &context) }
        readTenants(&context)
        if kind == .oauth2, rules.pkce == .off { rules.nonce = .off }
        // A client that says nothing of it has what its provider has.
        for index in clients.indices where rules.pkce == .optional && clients[index].place.given["pkce"] == nil {
            clients[index].rules.pkce = .optional
        }
        guard context.problems.count == before else { return nil }
        let dialect = rules.dialect
        if dialect != .standard {
            for index in clients.indices { clients[index].method = clients[index].method ?? .clientSecretPost }
        }
        let clients = finishedClients(&context)
        // The reader has reported what is required and missing.
        guard !place.isBroken, context.problems.count == before, var provider = provider(id, clients) else {
            return nil
        }
        provider.ofFeatures = ofFeatures
        if let problem = loginInitiationProblem(clients) {
            context.refuse(place.origin, "has initiate_login_client, but \(problem.reason)", problem.remedy)
        }
        context.refuse(
            if: !rules.resources.isEmpty && !rules.storesTokens, place.origin,
            "has resources, but stores no tokens to fetch them with", "set store_tokens to true")
        context.refuse(
            if: rules.backchannelTokenDelivery != .off && clients.allSatisfy { $0.authentication == .publicClient },
            place.origin, "has backchannel_token_delivery_mode, but no client that authenticates",
            "give a client a secret or a private_key, or set it to off")
        refuseUnbound(clients, &context)
        refuseSharedParameters(clients, &context)
        guard kind == .oauth2 else { return provider }
        context.refuse(
            if: dialect != .standard && clients.contains { $0.authentication.method != .clientSecretPost },
            place.origin,
            "has dialect: \(dialect.rawValue), and a client that authenticates without a secret in the form",
            "give each client its secret, and remove token_endpoint_auth_method")
        context.refuse(
            if: rules.responseMode.isSigned, place.origin,
            "has response_mode: \(rules.responseMode.rawValue), but no metadata that names the keys",
            "make it query or form_post, or make the kind oidc")
        guard let authorizationEndpoint = rules.endpoints["authorization_endpoint"],
            let tokenEndpoint = rules.endpoints["token_endpoint"], let userEndpoint, let subject
        else { return nil }
        var user = UserEndpoint(url: userEndpoint, subject: subject)
        user.emails = emailsEndpoint
        provider.endpoints = .init(authorization: authorizationEndpoint, token: tokenEndpoint, user: user)
        return provider
    }

    /// Makes the only client of what the section says of clients, if it does not list any.
    private mutating func takeOnlyClient(_ context: inout ReadingContext) {
        let hasList = place.given["clients"] != nil
        context.refuse(
            if: hasList && client.id != nil, place.origin, "has client_id beside clients",
            "keep one of them: clients is for several")
        guard !hasList, !place.isBroken else { return }
        guard client.id != nil else {
            return context.refuse(
                place.origin, "has no client_id, and no clients", "give client_id and client_secret of the app")
        }
        (client.kind, client.place.origin) = (kind, place.origin)
        if client.rules.redirectURIs.isEmpty {
            // The sign-in page and the front page of this server. Of a loopback address, any port is registered.
            var base = context.publicURL?.text ?? "http://127.0.0.1:8080"
            if base.hasSuffix("/") { base.removeLast() }
            client.rules.redirectURIs = ["\(base)/sign-in", "\(base)/"]
        }
        clients = [client]
    }

    /// The key of a client, beneath that of the provider.
    func key(ofClient index: Int) -> String { place.given["clients"] == nil ? "" : ".clients[\(index)]" }

    private func finishedClients(_ context: inout ReadingContext) -> [Configuration.Client] {
        clients.indices.compactMap { index in
            var draft = clients[index]
            return context.beneath(key(ofClient: index)) { draft.finished(&$0) }
        }
    }

    /// What every kind of provider has; nil without an issuer.
    package func provider(_ id: String, _ clients: [Configuration.Client]) -> Configuration.Provider? {
        guard let issuer else { return nil }
        var provider = Configuration.Provider(id: id, kind: kind, name: name, issuer: issuer, clients: clients)
        provider.color = color
        provider.profile = profile
        provider.rules = rules
        return provider
    }

    /// Why sign-ins of the named client cannot be initiated.
    private func loginInitiationProblem(_ clients: [Configuration.Client]) -> (reason: String, remedy: String)? {
        guard let id = rules.loginInitiationClient else { return nil }
        guard let client = clients.first(where: { $0.id == id }) else {
            return ("it has no client \(id.text)", "give the id of one of its clients")
        }
        guard client.redirectURIs.contains(where: { client.allows(.web, at: $0) }) else {
            return (
                "\(id.text) has no redirect URI for web, where the browser would arrive",
                "add one to its redirect_uris, or remove initiate_login_client"
            )
        }
        return nil
    }
}

extension ProviderKind {
    /// The kind that a configuration names; nil for none and for the carriers, which are not a provider there.
    fileprivate init?(_ node: ConfigurationNode) {
        guard case .text(let text) = node.value, let kind = ProviderKind(rawValue: text), kind != .zenkey else {
            return nil
        }
        self = kind
    }
}
