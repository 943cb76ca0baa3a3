package import OpenIDConnect
import Primitives

/// The claims that a user consented to share with one client, and the provider that sent them.
package struct ClientClaims: Sendable, Hashable {
    /// The client that the user consented to share them with, and the only one that is shown them.
    package let clientID: String
    /// The issuer of the provider that sent them.
    package let issuer: String
    package let claims: ConsentedClaims

    package init(_ claims: ConsentedClaims, for clientID: String, from issuer: String) {
        self.clientID = clientID
        self.issuer = issuer
        self.claims = claims
    }

    /// These claims after a later sign-in of the same client.
    /// - Parameters:
    ///   - other: What the sign-in brought. Claims of another provider replace all of these.
    ///   - asked: What the sign-in asked for. Claims that were asked for and not sent are withdrawn.
    func updated(with other: ClientClaims, asked: [ConsentedClaim]) -> ClientClaims {
        guard other.issuer == issuer else { return other.claims.isEmpty ? self : other }
        let kept = claims.filtered { !asked.contains($0) }
        return ClientClaims(other.claims.filled(with: kept), for: clientID, from: issuer)
    }
}

/// The claims that a user consented to share, apart for each client.
struct UserClaims: Sendable, Equatable {
    /// One for each client, the latest change last.
    private(set) var clients: [ClientClaims] = []

    /// Bounds a user's row: the oldest are left out.
    static let maximumClients = 16

    /// The claims of a client; nil if there are none.
    subscript(clientID: String) -> ClientClaims? { clients.first { $0.clientID == clientID } }

    /// Replaces a client's claims.
    mutating func set(_ client: ClientClaims) {
        clients.removeAll { $0.clientID == client.clientID }
        if !client.claims.isEmpty { clients.append(client) }
        clients.removeFirst(max(0, clients.count - Self.maximumClients))
    }

    /// What may be stored without encryption.
    var withoutSensitive: UserClaims {
        var some = UserClaims()
        for client in clients {
            let claims = client.claims.filtered { !$0.isSensitive }
            some.set(ClientClaims(claims, for: client.clientID, from: client.issuer))
        }
        return some
    }
}

/// As JSON, for the store.
extension UserClaims {
    /// Nil if there are no claims.
    var json: [UInt8]? {
        guard !clients.isEmpty else { return nil }
        var json = JSONObjectWriter()
        json.add("clients", objects: clients) { client, json in
            json.add("client_id", client.clientID)
            json.add("issuer", client.issuer)
            json.add("claims", object: client.claims.write)
        }
        return json.finish()
    }

    /// Reads what ``json`` wrote, and leaves out what it did not write.
    init(json bytes: [UInt8]) {
        let object = (try? JSONValue(parsing: bytes))?.object
        for client in object?["clients"]?.array ?? [] {
            guard let client = client.object, let clientID = client["client_id"]?.string,
                let issuer = client["issuer"]?.string, let claims = client["claims"]?.object
            else { continue }
            set(ClientClaims(ConsentedClaims(claims), for: clientID, from: issuer))
        }
    }
}
