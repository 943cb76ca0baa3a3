import Crypto
public import Primitives

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

/// The SHA-256 of an API key, which is all that is kept of one.
public struct APIKeyDigest: Sendable {
    private let words: [4 of UInt64]

    /// The digest of a key as it was shown.
    public init(of key: String) {
        var hasher = SHA256()
        var key = key
        key.withUTF8 { hasher.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        words = hasher.finalize().withUnsafeBytes(Self.words)
    }

    /// Nil unless there are 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        words = bytes.withUnsafeBytes(Self.words)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        (0..<4).flatMap { index in withUnsafeBytes(of: words[index]) { [UInt8]($0) } }
    }

    /// Stands for the key where a number is enough; tells nothing of it.
    public var number: UInt64 { words[0] }

    /// In a time that does not depend on where they differ.
    func isSame(as other: APIKeyDigest) -> Bool {
        let difference =
            (words[0] ^ other.words[0]) | (words[1] ^ other.words[1]) | (words[2] ^ other.words[2])
            | (words[3] ^ other.words[3])
        return difference == 0
    }

    private static func words(_ bytes: UnsafeRawBufferPointer) -> [4 of UInt64] {
        var words: [4 of UInt64] = .init(repeating: 0)
        for index in 0..<4 where bytes.count >= 8 * index + 8 {
            words[index] = bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)
        }
        return words
    }
}

/// The keys that API callers show in `X-API-KEY`, and what each is good for.
public struct APIKeys: Sendable {
    private let entries: [(digest: APIKeyDigest, grant: APIGrant)]

    /// - Parameters:
    ///   - plain: Keys that are good for everything, as they are; an empty one is none.
    ///   - sha256: The SHA-256 of such keys, 32 bytes each; what is of another length is worth nothing.
    public init(plain: [Secret] = [], sha256: [[UInt8]] = []) {
        let digests =
            plain.filter { !$0.exposed.isEmpty }.map { APIKeyDigest(of: $0.exposed) }
            + sha256.compactMap(APIKeyDigest.init)
        entries = digests.map { ($0, APIGrant()) }
    }

    public init(_ keys: [(digest: APIKeyDigest, grant: APIGrant)]) {
        entries = keys
    }

    /// What a key is good for; nil if it is unknown. Compares with all keys, in a time that does not depend on which of
    /// them is like it.
    public func grant(for digest: APIKeyDigest) -> APIGrant? {
        var found = -1
        for index in entries.indices {
            let isSame = entries[index].digest.isSame(as: digest)
            found = isSame ? index : found
        }
        return found < 0 ? nil : entries[found].grant
    }

    /// All origins that some key is for.
    public var origins: Set<String> {
        entries.reduce(into: []) { $0.formUnion($1.grant.origins ?? []) }
    }
}
