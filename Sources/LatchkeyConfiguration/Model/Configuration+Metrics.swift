public import Primitives

extension Configuration {
    /// Where metrics are served, and to whom.
    public struct Metrics: Sendable, Hashable {
        /// The addresses to listen on for metrics, where there is a port.
        public var hosts = ["127.0.0.1"]
        /// Nil serves them where the API is, to ``allowedAddresses``; 0 lets the system choose.
        public var port: UInt16?
        public var allowedAddresses = ["127.0.0.0/8", "::1"].compactMap(IPAddressRange.init)

        public init() {}
    }
}
