internal import OpenIDConnect
internal import SignIn

/// The mobile operators of a provider of verified phone numbers (`kind: camara`), each an OpenID provider with one
/// client, which is this server.
extension ProviderDraft {
    /// Reads a list of operators, each of which begins as what the provider says of all; or reports that it is none.
    mutating func readOperators(_ node: ConfigurationNode, _ context: inout ReadingContext) {
        guard case .list(let items) = node.value else {
            return context.refuse(node.origin, "is \(node.kind)", "give a list of operators")
        }
        let given = place.given
        if given["sim_swap.if_swapped"] == nil, given.keys.contains(where: { $0.hasPrefix("sim_swap.") }) {
            mobileOperator.simSwap.ifSwapped = .refuse
        }
        let common = self
        operators = items.enumerated().map { index, item in
            context.beneath("[\(index)]") { context in
                var draft = common
                guard case .mapping(let entries) = item.value else {
                    context.refuse(item.origin, "is \(item.kind)", "give name, issuer and the operator's other keys")
                    return draft
                }
                SettingsReader.read(entries, at: item.origin, Self.operatorSettings, into: &draft, &context)
                if draft.mobileOperator.finderID.isEmpty { draft.mobileOperator.finderID = draft.mobileOperator.name }
                draft.client.place.origin = item.origin
                return draft
            }
        }
    }

    /// One provider for each operator; none after reporting what is wrong.
    mutating func finishedOperators(_ context: inout ReadingContext) -> [Configuration.Provider] {
        guard !place.isBroken else { return [] }
        let before = context.problems.count
        refuseDoubles(&context)
        finderClient.place.origin = place.origin
        if place.given["telco_finder.issuer"] != nil,
            let client = finderClient.finished(&context, assertionAudience: .endpoint)
        {
            telcoFinder.client = client
            provider.telcoFinder = telcoFinder
        }
        guard context.problems.count == before else { return [] }
        let finder = provider.telcoFinder
        return operators.enumerated().compactMap { index, draft in
            context.beneath(".operators[\(index)]") { context in
                var draft = draft
                draft.client.client.scopes = draft.mobileOperator.scopes
                guard let client = draft.client.finished(&context, assertionAudience: .endpoint) else { return nil }
                draft.provider.id =
                    ProviderReference(provider: draft.provider.id, operatorName: draft.mobileOperator.name).text
                draft.provider.clients = [client]
                draft.provider.mobileOperator = draft.mobileOperator
                draft.provider.telcoFinder = finder
                draft.provider.rules.endsSessions = false
                draft.provider.rules.keepsIDTokens = false
                return draft.provider
            }
        }
    }

    /// Reports operators that a request could not tell apart.
    private func refuseDoubles(_ context: inout ReadingContext) {
        var seen: Set<[String]> = []
        for (index, draft) in operators.enumerated() {
            let settings = draft.mobileOperator
            let unique = [
                ("name", settings.name, "give it another name"),
                ("operator_id", settings.finderID, "give each operator_id once"),
                ("issuer", draft.provider.issuer.text, "give each issuer once"),
            ]
            let networks = settings.networks.map(\.text).sorted().map { ("mccmnc \($0)", $0, "give each network once") }
            for (what, value, remedy) in unique + networks where !seen.insert([what, value]).inserted {
                context.beneath(".operators[\(index)]") {
                    $0.refuse(draft.place.origin, "has the \(what) of another operator", remedy)
                }
            }
        }
    }
}
