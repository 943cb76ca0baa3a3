import OpenIDConnect
package import Primitives

/// What a caller may use of the configured providers.
package struct CallerTerms: Sendable {
    /// The clients that it may use; nil for all. Without an API key they are all.
    package var clients: Set<String>?
    /// The network of its address, whose callers share what is limited for all; nil if it is not known.
    package var subnet: IPAddress?

    /// A caller without limits.
    package init() {}

    package init(clients: Set<String>?, subnet: IPAddress?) {
        self.clients = clients
        self.subnet = subnet
    }

    func allows(_ client: SignInConfiguration.Client) -> Bool { clients?.contains(client.id.text) ?? true }

    /// - Throws: `unauthorized_client` if the caller may not use the client.
    func check(_ client: SignInConfiguration.Client) throws(SignInError) {
        guard allows(client) else { throw .clientNotAllowed }
    }
}

extension SignInConfiguration {
    /// Checks that a caller may use at least one of the clients of a provider. An unknown provider passes.
    /// - Parameter name: The name in paths, or that of ``providers``.
    /// - Throws: `unauthorized_client`.
    func check(_ caller: CallerTerms, mayUse name: String) throws(SignInError) {
        guard caller.clients != nil else { return }
        let entries = providers.filter { key, _ in key == name || path(ofProvider: key) == name }
        let isAllowed = entries.values.contains { $0.clients.values.contains(where: caller.allows) }
        guard isAllowed || entries.isEmpty else { throw .clientNotAllowed }
    }
}

extension SignInError {
    /// A sign-in, its start, or a verification for another client than the caller's. 400, as RFC 6749 section 5.2 says,
    /// because the published apps read any 403 of a sign-in as the offer of a registration.
    package static let clientNotAllowed = SignInError(
        .unauthorizedClient, .configurationError,
        "This API key or origin is not for this client. The operator must add the client to it.")
}
