public import OpenIDConnect

extension Configuration {
    /// Of the carriers and of every other provider. Two providers may know clients of one id.
    public var allClients: [Client] { zenkey.clients + providers.flatMap(\.clients) }

    /// A way to sign in beside the mobile carriers.
    public struct Provider: Sendable {
        public enum Kind: String, Sendable, CaseIterable {
            /// An OpenID provider, found by its issuer.
            case oidc
            /// A provider without ID tokens; ``endpoints`` says where it is.
            case oauth2
        }

        /// How the browser is sent back with the answer.
        public enum ResponseMode: String, Sendable, CaseIterable {
            case query
            case formPost = "form_post"
        }

        /// Of a provider without ID tokens, which has no metadata that would say so.
        public struct Endpoints: Sendable, Hashable {
            public var authorization: EndpointURL
            public var token: EndpointURL
            /// What it answers to an access token says who the user is.
            public var user: UserEndpoint

            public init(authorization: EndpointURL, token: EndpointURL, user: UserEndpoint) {
                self.authorization = authorization
                self.token = token
                self.user = user
            }
        }

        /// Its name in paths: `/auth/{id}/start`.
        public var id: String
        public var kind: Kind
        /// For people; ``id`` if nobody said otherwise.
        public var name: String
        /// As the provider spells it in its metadata and its ID tokens; without these, what stands for it in identities.
        public var issuer: EndpointURL
        /// Of ``Kind/oauth2`` only.
        public var endpoints: Endpoints?
        public var responseMode = ResponseMode.query
        /// Whether the provider may end sessions; of ``Kind/oidc`` only.
        public var backChannelLogout = true
        public var clients: [Client]
        /// Whether the access and refresh tokens of its sign-ins are kept, encrypted.
        public var storesTokens = false
        /// What is fetched for users with them, by name.
        public var resources: [String: EndpointURL] = [:]

        public init(id: String, kind: Kind = .oidc, name: String? = nil, issuer: EndpointURL, clients: [Client]) {
            self.id = id
            self.kind = kind
            self.name = name ?? id
            self.issuer = issuer
            self.clients = clients
        }
    }
}
