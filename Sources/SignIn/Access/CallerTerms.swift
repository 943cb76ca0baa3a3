import OpenIDConnect
package import Primitives
package import StorageModel

/// What a caller may use of the configured providers.
package struct CallerTerms: Sendable {
    /// The clients that it may use; nil for all. Without an API key they are all.
    package var clients: Set<String>?
    /// The network of its address, whose callers share what is limited for all; nil if it is not known.
    package var subnet: IPAddress?

    /// Whose part of the limits of a phone number it uses; nil if the caller is not known.
    package var id: TokenHash?

    /// A caller without limits.
    package init() {}

    /// - Parameters:
    ///   - key: By which the caller was admitted; nil for a browser without an API key.
    ///   - address: The caller's; nil if it is not known. With the key it tells the users of an app apart.
    package init(clients: Set<String>?, key: TokenHash?, address: IPAddress?) {
        self.clients = clients
        subnet = address?.subnet
        guard key != nil || address != nil else { return }
        let place = address.map { "\($0.network.high) \($0.network.low)" } ?? ""
        id = TokenHash(sha256Of: "caller \(key.map { Base64URL.encode($0.bytes) } ?? "") \(place)")
    }

    /// The same for a signed-in user, who is the caller then, wherever they are.
    package func of(_ user: UserID) -> CallerTerms {
        var terms = self
        terms.id = TokenHash(sha256Of: "user \(user.number)")
        return terms
    }

    func allows(_ client: SignInConfiguration.Client) -> Bool { clients?.contains(client.id.text) ?? true }

    /// - Throws: `unauthorized_client` if the caller may not use the client.
    func check(_ client: SignInConfiguration.Client) throws(SignInError) {
        guard allows(client) else { throw .clientNotAllowed }
    }

    /// - Throws: `unauthorized_client` if the caller may use none of the clients.
    func check<Clients: Sequence<SignInConfiguration.Client>>(
        mayUseOneOf clients: @autoclosure () -> Clients
    ) throws(SignInError) {
        guard self.clients == nil || clients().contains(where: allows) else { throw .clientNotAllowed }
    }
}

extension SignInError {
    /// A sign-in, its start, or a verification for another client than the caller's. 400, as RFC 6749 section 5.2 says,
    /// because the published apps read any 403 of a sign-in as the offer of a registration.
    package static let clientNotAllowed = SignInError(
        .unauthorizedClient, .configurationError,
        "This API key or origin is not for this client. The operator must add the client to it.")
}
