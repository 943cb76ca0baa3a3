package import HTTPServer
package import Primitives

/// What a feature adds to the API. `Feature` has defaults for a feature that adds nothing.
package protocol APIFeature: Sendable {
    /// Its operations in the OpenAPI document: those routes that a client may use.
    static var operations: [APIOperation] { get }

    /// The schemas that its operations name, beside those of the core.
    static var schemas: KeyValuePairs<String, APISchema> { get }

    /// The patterns of its routes whose `GET` or `POST` begins a sign-in. They are refused first in an overload.
    static var startPaths: [String] { get }

    func addRoutes(to router: inout Router, of api: LatchkeyAPI)

    /// Adds members to `GET /auth/providers`.
    func describe(in json: inout JSONObjectWriter)

    /// Registers the users of this server's pages.
    var pageRegistration: (any PageRegistration)? { get }

    /// The origins that this server's pages may call, besides its own.
    var connectedOrigins: [String] { get }
}
