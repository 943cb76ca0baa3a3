import LatchkeyConfiguration
import OpenIDConnect
import SignIn

/// What the status page calls carriers and providers, in place of their issuers.
struct CarrierNames: Sendable {
    /// By the providers' names in the configuration.
    private var providers: [String: String] = [:]
    /// The networks of the configured issuers of carriers.
    private var networks: [String: [String]] = [:]

    init(_ configuration: Configuration) {
        for provider in configuration.providers {
            providers[provider.id] =
                provider.mobileOperator.map { "\(provider.name): \($0.name)" } ?? provider.name
        }
        for (network, issuer) in configuration.zenkey.issuers {
            networks[issuer.text, default: []].append(network.text)
        }
    }

    /// The name of a provider; of a carrier its networks, if they are configured, and otherwise the host of its issuer.
    func name(of source: CarrierMetrics.Source) -> String {
        if let name = providers[source.provider] { return name }
        if source.issuer.isEmpty { return "Carrier discovery" }
        if let networks = networks[source.issuer] { return "Carrier \(networks.sorted().joined(separator: ", "))" }
        let parts = source.issuer.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count > 2 ? String(parts[2]) : source.issuer
    }
}
