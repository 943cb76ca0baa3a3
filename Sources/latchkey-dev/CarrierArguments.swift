import ArgumentParser
import CarrierSimulator
import FoundationEssentials
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
        var clients: [CarrierSimulator.Client] = []
        for argument in arguments {
            if let index = clients.firstIndex(where: { $0.id == argument.client.id }) {
                clients[index].redirectURIs += argument.client.redirectURIs
            } else {
                clients.append(argument.client)
            }
        }
        return clients
    }
}

/// `id:client_secret_post`, or `id:private_key_jwt:file` with a PEM file of the public key.
struct AuthenticationArgument: ExpressibleByArgument {
    let clientID: String
    let authentication: CarrierSimulator.Client.Authentication

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 2 else { return nil }
        clientID = parts[0]
        switch (parts[1], parts.count) {
        case ("client_secret_basic", 2): authentication = .clientSecretBasic
        case ("client_secret_post", 2): authentication = .clientSecretPost
        case ("private_key_jwt", 3):
            guard let pem = try? String(contentsOfFile: parts[2], encoding: .utf8) else { return nil }
            authentication = .privateKeyJWT(publicKeyPEM: pem)
        default: return nil
        }
    }
}

/// `mccmnc:name`.
struct FaultArgument: ExpressibleByArgument {
    let mccmnc: String
    let fault: CarrierSimulator.Fault

    init?(argument: String) {
        let parts = argument.split(separator: ":").map(String.init)
        guard parts.count == 2, let fault = CarrierSimulator.Fault(named: parts[1]) else { return nil }
        mccmnc = parts[0]
        self.fault = fault
    }
}

/// The addresses that only this machine can reach.
enum Loopback {
    static func contains(_ host: String) -> Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }
}
