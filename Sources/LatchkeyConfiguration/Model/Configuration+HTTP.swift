public import Primitives

extension Configuration {
    /// The HTTP server.
    public struct HTTP: Sendable, Hashable {
        /// Names or addresses to bind; an IPv6 address without brackets.
        public var hosts = ["127.0.0.1"]
        /// 0 lets the system choose.
        public var port: UInt16 = 8080
        /// Event loops; 0 makes one for each processor.
        public var loops = 0
        public var limits = Limits()
        public var timeouts = Timeouts()
        /// Reverse proxies that may say for whom they ask.
        public var trustedProxies: [IPAddressRange] = []
        public var forwardedField = ForwardedField.xForwardedFor

        public init() {}

        /// The field in which proxies say for whom they ask.
        public enum ForwardedField: String, Sendable, CaseIterable {
            case xForwardedFor = "x-forwarded-for"
            /// RFC 7239.
            case forwarded
        }

        /// Numbers and sizes (in bytes) beyond which a connection or request is refused.
        public struct Limits: Sendable, Hashable {
            public var connections = 16_384
            /// Nil for no such limit.
            public var connectionsPerAddress: Int?
            public var requestsPerConnection = 100_000
            public var requestLineBytes = 8 * 1024
            public var headerBytes = 16 * 1024
            public var headerFields = 100
            public var bodyBytes = 64 * 1024
            public var requestsUnderWay = 2048

            public init() {}
        }

        /// Times in which a phase must be over.
        public struct Timeouts: Sendable, Hashable {
            public var header = Duration.seconds(10)
            public var body = Duration.seconds(30)
            public var idle = Duration.seconds(60)
            public var write = Duration.seconds(30)
            /// From SIGTERM until what still runs is cut off.
            public var drain = Duration.seconds(30)

            public init() {}
        }
    }
}
