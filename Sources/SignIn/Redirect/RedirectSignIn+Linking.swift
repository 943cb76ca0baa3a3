public import Primitives
public import StorageModel

/// Adding a way to sign in by redirects.
extension RedirectSignIn {
    /// Begins to add a way to sign in: says where the browser goes. Only the session that asks can finish it, in the
    /// browser that asks.
    /// - Throws: `insufficient_user_authentication` if the session's sign-in is too old; what ``start(_:browser:)``
    ///   throws.
    public func startLink(
        _ request: RedirectStart, for holder: SessionAndUser, browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        try link.checkAge(of: holder.session)
        guard request.clientType == .web || request.clientType == .popup else { throw .linkNeedsBrowser }
        var request = request
        request.linkingSession = holder.session.id
        return try await start(request, browser: browser)
    }
}
