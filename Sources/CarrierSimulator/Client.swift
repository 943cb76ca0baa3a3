public import Primitives

extension CarrierSimulator {
    /// A service provider registered with every carrier of the simulator.
    public struct Client: Sendable, Hashable {
        public var id: String
        public var secret: Secret
        /// Compared byte by byte with what a request asks for (RFC 9700 section 2.1).
        public var redirectURIs: [String]

        public init(id: String, secret: Secret, redirectURIs: [String]) {
            self.id = id
            self.secret = secret
            self.redirectURIs = redirectURIs
        }

        func allows(_ redirectURI: String) -> Bool { redirectURIs.contains { $0.hasSameBytes(as: redirectURI) } }
    }
}
