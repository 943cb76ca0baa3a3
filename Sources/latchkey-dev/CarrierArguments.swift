import ArgumentParser
import CarrierSimulator
import Primitives

/// `id:secret:redirect_uri`. The redirect URI is everything after the second colon.
struct ClientArgument: ExpressibleByArgument {
    let client: CarrierSimulator.Client

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, !parts.contains("") else { return nil }
        client = .init(id: parts[0], secret: Secret(parts[1]), redirectURIs: [parts[2]])
    }

    /// Merges clients with the same id into one with all their redirect URIs and the first secret.
    static func merged(_ arguments: [ClientArgument]) -> [CarrierSimulator.Client] {
        Dictionary(grouping: arguments.map(\.client), by: \.id).values.map { clients in
            var client = clients[0]
            client.redirectURIs = clients.flatMap(\.redirectURIs)
            return client
        }
    }
}
