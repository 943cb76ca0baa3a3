package import HTTPServer
package import Primitives
package import SignIn

/// What a feature adds to the API. `Feature` has defaults for a feature that adds nothing.
package protocol APIFeature: Sendable {
    /// Its operations in the OpenAPI document: those routes that a client may use.
    static var operations: [APIOperation] { get }

    /// The schemas that its operations name, beside those of the core.
    static var schemas: KeyValuePairs<String, APISchema> { get }

    /// The patterns of its routes whose `GET` or `POST` begins a sign-in. They are refused first in an overload.
    static var startPaths: [String] { get }

    func addRoutes(to router: inout Router, of api: LatchkeyAPI)

    /// Reads a sign-in at a group of servers; nil for a group of another kind.
    /// - Parameters:
    ///   - terms: Who may choose a server of the group.
    ///   - caller: Who sent it, if that is not said by a session.
    ///   - device: A name for the user's device, of a session that starts.
    /// - Throws: 400 that names every missing or malformed field; why no server can be chosen.
    func signInRequest(
        _ fields: BodyFields, at provider: Provider, of api: LatchkeyAPI, terms: CallerTerms, caller: Caller?,
        device: String?
    ) async throws -> SignInRequest?

    /// Adds members to `GET /auth/providers`.
    func describe(in json: inout JSONObjectWriter)

    /// Sends browsers to providers, and takes them back.
    func redirects(of api: LatchkeyAPI) -> (any BrowserRedirects)?

    /// What redirects are for, besides sign-ins.
    func sessionErrand(of api: LatchkeyAPI) -> SessionErrand?

    /// Registers the users of this server's pages.
    var pageRegistration: (any PageRegistration)? { get }

    /// The origins that this server's pages may call, besides its own.
    var connectedOrigins: [String] { get }
}
