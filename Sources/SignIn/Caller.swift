import Storage

/// Who makes a call: stands for an API key, or for the origin of a web frontend, and tells neither.
public struct Caller: Sendable, Hashable {
    let hash: TokenHash

    public init(apiKey: String) throws(SignInError) {
        hash = try TokenHash(sha256Of: "key " + apiKey)
    }

    public init(origin: String) throws(SignInError) {
        hash = try TokenHash(sha256Of: "origin " + origin)
    }
}
