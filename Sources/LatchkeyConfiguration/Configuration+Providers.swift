public import OpenIDConnect

extension Configuration {
    /// A way to sign in beside the mobile carriers.
    public struct Provider: Sendable {
        public enum Kind: String, Sendable, CaseIterable {
            /// An OpenID provider, found by its issuer.
            case oidc
        }

        /// Its name in paths: `/auth/{id}/start`.
        public var id: String
        public var kind: Kind
        /// For people; ``id`` if nobody said otherwise.
        public var name: String
        /// As the provider spells it in its metadata and its ID tokens.
        public var issuer: EndpointURL
        public var clients: [Client]

        public init(id: String, kind: Kind = .oidc, name: String? = nil, issuer: EndpointURL, clients: [Client]) {
            self.id = id
            self.kind = kind
            self.name = name ?? id
            self.issuer = issuer
            self.clients = clients
        }
    }
}
