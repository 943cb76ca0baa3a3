public import Primitives

extension Configuration {
    /// How providers' tokens are kept.
    public struct Vault: Sendable, Hashable {
        /// 64 hexadecimal digits each; the first encrypts, all decrypt.
        public var encryptionKeys: [Secret] = []

        public init() {}

        /// The 32 bytes of each of ``encryptionKeys``; what is not 64 hexadecimal digits is left out.
        public var encryptionKeyBytes: [[UInt8]] { encryptionKeys.compactMap { Hexadecimal.decode($0.exposed.utf8) } }
    }
}
