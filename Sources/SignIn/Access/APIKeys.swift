public import Primitives
public import StorageModel

/// What somebody was let in for: by an API key, or by the origin of a web frontend.
public struct APIGrant: Sendable, Hashable {
    /// What the operator calls the key; nil if it has no name.
    public let name: String?
    /// The clients whose users and sessions it is good for; nil for all.
    public let clients: Set<String>?
    /// The origins that a request with the key must come from; nil if it may come from anywhere.
    public let origins: Set<String>?
    /// Whether whoever has it is an operator, and may see how the server is.
    public let isOperator: Bool

    public init(
        name: String? = nil, clients: Set<String>? = nil, origins: Set<String>? = nil, isOperator: Bool = false
    ) {
        self.isOperator = isOperator
        self.name = name
        self.clients = clients
        self.origins = origins
    }
}

/// The keys that API callers show in `X-API-KEY`, and what each is good for.
public struct APIKeys: Sendable {
    private let entries: [(hash: TokenHash, grant: APIGrant)]

    /// - Parameters:
    ///   - plain: Keys that are good for everything, as they are; an empty one is none.
    ///   - sha256: The SHA-256 of such keys, 32 bytes each; what is of another length is worth nothing.
    public init(plain: [Secret] = [], sha256: [[UInt8]] = []) {
        let hashes =
            plain.filter { !$0.exposed.isEmpty }.map { TokenHash(sha256Of: $0.exposed) }
            + sha256.compactMap { TokenHash($0) }
        entries = hashes.map { ($0, APIGrant()) }
    }

    public init(_ keys: [(hash: TokenHash, grant: APIGrant)]) {
        entries = keys
    }

    /// What a key is good for; nil if it is unknown. Compares with all keys, in a time that does not depend on which of
    /// them is like it.
    public func grant(for hash: TokenHash) -> APIGrant? {
        var found = -1
        for index in entries.indices {
            let isSame = entries[index].hash == hash
            found = isSame ? index : found
        }
        return found < 0 ? nil : entries[found].grant
    }

    /// All origins that some key is for.
    public var origins: Set<String> {
        entries.reduce(into: []) { $0.formUnion($1.grant.origins ?? []) }
    }
}
