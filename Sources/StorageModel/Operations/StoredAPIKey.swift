package import Primitives

/// A stored API key: its hash and its permissions.
package struct StoredAPIKey: Sendable, Hashable {
    /// The administrator's name for it, unique among the keys that are not revoked.
    package let name: String
    package let hash: TokenHash
    /// The clients it may act for; nil for all.
    package let clients: [String]?
    /// The origins it may be used from; nil for any.
    package let origins: [String]?
    package let createdAt: Timestamp
    package let revokedAt: Timestamp?

    package init(
        name: String, hash: TokenHash, clients: [String]? = nil, origins: [String]? = nil, createdAt: Timestamp,
        revokedAt: Timestamp? = nil
    ) {
        self.name = name
        self.hash = hash
        self.clients = clients
        self.origins = origins
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}
