public import Primitives

extension Configuration {
    /// What is demanded of transactions, and what their receipts are like.
    public struct Transactions: Sendable, Hashable {
        public var maximumAuthenticationAge = Duration.seconds(300)
        public var receiptLifetime = Duration.seconds(300)
        public var keyLifetime = Duration.seconds(30 * 86_400)
        /// 64 hexadecimal digits each.
        public var encryptionKeys: [Secret] = []

        public init() {}

        /// The 32 bytes of each of ``encryptionKeys``; what is not 64 hexadecimal digits is left out.
        public var encryptionKeyBytes: [[UInt8]] { encryptionKeys.compactMap { Hexadecimal.decode($0.exposed.utf8) } }
    }
}
