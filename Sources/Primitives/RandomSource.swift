#if canImport(Glibc)
    import Glibc
#endif

/// Yields unpredictable bytes. Injected into everything that makes tokens, so that tests can repeat them.
public struct RandomSource: Sendable {
    private let make: @Sendable (Int) -> [UInt8]

    /// A source that returns as many bytes as it is given.
    public init(_ make: @escaping @Sendable (Int) -> [UInt8]) { self.make = make }

    /// `count` random bytes.
    public func bytes(_ count: Int) -> [UInt8] { make(count) }

    /// The length of a ``token(bytes:)`` of 32 bytes.
    package static let tokenCharacters = 43

    /// `count` random bytes as unpadded base64url text (RFC 4648 section 5): 32 bytes make 43 characters.
    public func token(bytes count: Int = 32) -> String { Base64URL.encode(make(count)) }

    /// The operating system's cryptographic source.
    public static let system = RandomSource { count in
        var bytes = [UInt8](zeros: count)
        #if canImport(Glibc)
            // getentropy(3) fills at most 256 bytes.
            let isFilled = bytes.withUnsafeMutableBytes { all in
                stride(from: 0, to: count, by: 256).allSatisfy { start in
                    getentropy(all.baseAddress.map { $0 + start }, min(256, count - start)) == 0
                }
            }
            if isFilled { return bytes }
        #endif
        // If the kernel's call fails, the standard library has its own source.
        var generator = SystemRandomNumberGenerator()
        for index in bytes.indices { bytes[index] = generator.next() }
        return bytes
    }
}
