import Crypto
public import Primitives

/// The keys that API callers show in `X-API-KEY`, of which only the SHA-256 is kept.
public struct APIKeys: Sendable {
    private let digests: [[UInt8]]

    /// - Parameters:
    ///   - plain: The keys themselves; an empty one is none.
    ///   - sha256: The SHA-256 of keys, 32 bytes each; what is of another length is worth nothing.
    public init(plain: [Secret] = [], sha256: [[UInt8]] = []) {
        digests =
            plain.filter { !$0.exposed.isEmpty }.map { Self.digest($0.exposed) } + sha256.filter { $0.count == 32 }
    }

    /// Compares with all keys, in a time that does not depend on which of them is like it.
    func contain(_ key: String) -> Bool {
        let presented = Self.digest(key)
        var found = false
        for digest in digests {
            var difference: UInt8 = 0
            for (left, right) in zip(presented, digest) { difference |= left ^ right }
            found = difference == 0 || found
        }
        return found
    }

    private static func digest(_ text: String) -> [UInt8] {
        var hasher = SHA256()
        var text = text
        text.withUTF8 { hasher.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return hasher.finalize().withUnsafeBytes { [UInt8]($0) }
    }
}
