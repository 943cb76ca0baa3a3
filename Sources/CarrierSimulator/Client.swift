public import Primitives

extension CarrierSimulator {
    /// A service provider registered with every carrier of the simulator.
    public struct Client: Sendable, Hashable {
        public var id: String
        public var secret: Secret
        /// Compared character by character with what a request asks for.
        public var redirectURIs: [String]

        public init(id: String, secret: Secret, redirectURIs: [String]) {
            self.id = id
            self.secret = secret
            self.redirectURIs = redirectURIs
        }
    }
}
