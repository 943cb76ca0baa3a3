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

    /// A page with a session sends its browser to a provider for ``SessionErrand``. The fields of its request are those
    /// of a start.
    /// - Parameter check: Called with the start when it has been read. Throws if it is not allowed.
    func startErrand(
        _ request: Request, of caller: SignedInCaller, _ check: (RedirectStart) throws(SignInError) -> Void
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

/// What browsers with a session are sent to providers for, in place of a sign-in. One feature has it.
package struct SessionErrand: Sendable {
    /// Its name in logs, and the `action` that the frontend is told.
    package let kind: SignInReport.Kind
    package let flow: FailedOperation.Flow
    /// What a popup's last page says after a success.
    package let success: String
    /// Uses the code that a browser brought back.
    /// - Parameters:
    ///   - token: Of the browser's session, if it has one.
    ///   - id: The id of the session that began; no other one may get anything.
    package let finish:
        @Sendable (_ request: SignInRequest, _ token: Secret?, _ id: String) async throws(SignInError) -> Void

    package init(
        kind: SignInReport.Kind, flow: FailedOperation.Flow, success: String,
        finish: @escaping @Sendable (SignInRequest, Secret?, String) async throws(SignInError) -> Void
    ) {
        self.kind = kind
        self.flow = flow
        self.success = success
        self.finish = finish
    }
}
