package import HTTPServer
package import OpenIDConnect
package import Primitives
package import SignIn

/// Sign-ins by redirects, for features that send browsers to providers. One feature has it.
package protocol BrowserRedirects: Sendable {
    /// The path of the page that has the ways to sign in.
    var signInPage: String { get }

    /// A browser begins a sign-in. The parameters of its request are those of `GET /auth/{provider}/start`.
    /// - Parameters:
    ///   - sessionIDIsSession: See ``RedirectStart/sessionIDIsSession``.
    ///   - callback: The path that the provider sends the browser back to; by default the provider's callback.
    ///   - fallback: The redirect URI if the request has none. Without it, the request must have one.
    func start(
        _ request: Request, sessionIDIsSession: Bool, callback: ((ClientType) -> String)?,
        fallback: ((ClientID?, ClientType) -> String?)?
    ) async throws -> Response

    /// Adds a path to which providers may send browsers back.
    func addCallback(_ path: String, to router: inout Router)

    /// Begins a task: any browser may be sent to the server, and may come back.
    /// - Parameter start: What the server is asked for, with a redirect URI that is registered for the client.
    /// - Returns: Where to send a browser, within so many seconds.
    /// - Throws: Why no browser can be sent.
    func begin(
        task id: Secret, _ start: RedirectStart, at target: SignInTarget, for client: SignInConfiguration.Client,
        _ correlationID: CorrelationID
    ) async throws(SignInError) -> (url: String, withinSeconds: Int64)
}
