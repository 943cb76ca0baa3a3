package import HTTPServer
package import HTTPTypes
package import SignIn

/// The registration of users who sign in on a page of this server. A feature has it.
package protocol PageRegistration: Sendable {
    /// The cookie of a browser whose sign-in ended with an offer; nil unless it ended at a page of this server's own
    /// origin, in the browser that began it, or if this server does not know its URL.
    /// - Parameter end: That of a sign-in by redirects; nil after a call of a page.
    /// - Throws: `temporarily_unavailable`.
    func cookie(
        for offer: RegistrationOffer, after end: RedirectEnd?, _ api: LatchkeyAPI
    ) async throws(SignInError) -> HTTPField?

    /// Where a browser goes whose sign-in by redirects ended with an offer; nil for the frontend that began it.
    func location(after end: RedirectEnd, _ api: LatchkeyAPI) -> String?

    /// Clears the cookie of a registration that the browser has begun; nil if it has none.
    func clearedCookie(of request: Request, _ api: LatchkeyAPI) -> HTTPField?
}
