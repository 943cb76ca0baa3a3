package import HTTPServer
package import HTTPTypes
package import SignIn

/// The registration of users who sign in on a page of this server. A feature has it.
package protocol PageRegistration: Sendable {
    /// The path of its page.
    var path: String { get }

    /// The cookie of a browser whose sign-in ended with an offer at a page of this server's own origin, in the browser
    /// that began it.
    /// - Parameter location: Where the browser goes once the user is registered.
    /// - Throws: `temporarily_unavailable`.
    func cookie(
        for offer: RegistrationOffer, endingAt location: String, _ api: LatchkeyAPI
    ) async throws(SignInError) -> HTTPField

    /// Clears the cookie of a registration that the browser has begun; nil if it has none.
    func clearedCookie(of request: Request, _ api: LatchkeyAPI) -> HTTPField?
}
