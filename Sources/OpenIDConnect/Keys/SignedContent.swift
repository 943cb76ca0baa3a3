import Crypto

/// What a signature was made of, as far as its algorithm needs it.
enum SignedContent: Sendable {
    case sha256(SHA256.Digest)
    case sha384(SHA384.Digest)
    case sha512(SHA512.Digest)
    /// The content itself: Ed25519 reads it twice, so that a hash would not do.
    case whole([UInt8])

    init(_ content: UnsafeRawBufferPointer, signedBy algorithm: SigningAlgorithm) {
        switch algorithm {
        case .edDSA, .ed25519: self = .whole(Array(content))
        default:
            switch algorithm.hash {
            case .sha256: self = .sha256(Self.digest(of: content, by: SHA256.self))
            case .sha384: self = .sha384(Self.digest(of: content, by: SHA384.self))
            case .sha512: self = .sha512(Self.digest(of: content, by: SHA512.self))
            }
        }
    }

    private static func digest<Function: HashFunction>(
        of content: UnsafeRawBufferPointer, by function: Function.Type
    ) -> Function.Digest {
        var hash = Function()
        hash.update(bufferPointer: content)
        return hash.finalize()
    }
}
