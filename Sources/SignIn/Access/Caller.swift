import StorageModel

/// Identifies the caller of a request by a hash of its API key or of its origin.
package struct Caller: Sendable, Hashable {
    let hash: TokenHash

    package init(apiKey: String) { hash = TokenHash(sha256Of: "key " + apiKey) }

    package init(origin: String) { hash = TokenHash(sha256Of: "origin " + origin) }
}
