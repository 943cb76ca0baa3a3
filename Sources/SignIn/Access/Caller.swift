import StorageModel

/// Identifies the caller of a request by a hash of its API key or of its origin.
public struct Caller: Sendable, Hashable {
    let hash: TokenHash

    public init(apiKey: String) {
        hash = TokenHash(sha256Of: "key " + apiKey)
    }

    public init(origin: String) {
        hash = TokenHash(sha256Of: "origin " + origin)
    }
}
