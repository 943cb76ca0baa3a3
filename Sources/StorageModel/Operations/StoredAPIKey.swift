public import Primitives

/// An API key on record: its hash, and what it is good for.
public struct StoredAPIKey: Sendable, Hashable {
    /// What the operator calls it; no other key that is not revoked has the same name.
    public let name: String
    public let hash: TokenHash
    /// The clients it is good for; nil for all.
    public let clients: [String]?
    /// The origins it can be used from; nil if from anywhere.
    public let origins: [String]?
    public let createdAt: Timestamp
    public let revokedAt: Timestamp?

    public init(
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

public enum APIKeyAddition: Sendable, Hashable {
    case added
    /// A key that is not revoked has the name.
    case nameTaken
    /// There are as many as there can be.
    case tooMany
}
