import StorageModel

/// Who makes a call: stands for an API key, or for the origin of a web frontend, and tells neither.
public struct Caller: Sendable, Hashable {
    let hash: TokenHash

    /// - Throws: `temporarily_unavailable` if no SHA-256 can be had.
    public init(apiKey: String) throws(SignInError) {
        hash = try TokenHash(sha256Of: "key " + apiKey)
    }

    /// - Throws: `temporarily_unavailable` if no SHA-256 can be had.
    public init(origin: String) throws(SignInError) {
        hash = try TokenHash(sha256Of: "origin " + origin)
    }
}
