import CLatchkeySystem

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
        var generator = SystemRandomNumberGenerator()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = count
            if csystem_random(buffer.baseAddress, count) == 0 { return }
            // If the kernel's call fails, the standard library has its own source.
            for index in 0..<count { buffer.initializeElement(at: index, to: generator.next()) }
        }
    }
}
