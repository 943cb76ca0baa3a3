public import HTTPServer
package import HTTPTypes
package import OpenIDConnect
package import Primitives
package import SignIn
package import StorageModel

/// Routes, and their documentation.
public protocol APIRoutes: Sendable {
    /// Its operations in the OpenAPI document: those routes that a client may use.
    static var operations: [APIOperation] { get }

    /// The schemas that its operations name, beside those of the core.
    static var schemas: KeyValuePairs<String, APISchema> { get }

    /// Adds the routes. The wrapper around a handler, such as ``LatchkeyAPI/signedIn(_:)``, says who may call it; a
    /// route without one is open to all.
    func addRoutes(to router: inout Router, of api: LatchkeyAPI)
}

/// What a feature adds to the API. `Feature` has defaults for a feature that adds nothing.
package protocol APIFeature: APIRoutes {
    /// The requests that it sends to other systems, as Path Item Objects of the OpenAPI document, by name.
    static var webhooks: [(name: String, value: JSONValue?)] { get }

    /// The patterns of its routes whose `GET` or `POST` begins a sign-in. They are refused first in an overload.
    static var startPaths: [String] { get }

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

    /// Reads the start of a sign-in by two calls at a group of servers, without a redirect, and begins it; nil for a
    /// group of another kind.
    /// - Throws: As ``signInRequest(_:at:of:terms:caller:device:)``.
    func startSignIn(
        _ request: Request, _ admission: Admission, at provider: Provider, of api: LatchkeyAPI
    ) async throws -> Response?

    /// Adds members to `GET /auth/providers`.
    func describe(in json: inout JSONObjectWriter)

    /// Sends browsers to providers, and takes them back.
    func redirects(of api: LatchkeyAPI) -> (any BrowserRedirects)?

    /// An account is about to be erased. What it has elsewhere ends with it.
    func erasing(_ user: UserID, with useCases: UseCases) async throws(SignInError) -> AccountEnding?

    /// What redirects are for, besides sign-ins.
    func sessionErrand(of api: LatchkeyAPI) -> SessionErrand?

    /// Registers users who are unknown. One feature has it.
    var registration: (any PageRegistration)? { get }

    /// Verifies the proofs of apps' keys. One feature does.
    var keyProofs: (any KeyProofs)? { get }

    /// The origins that this server's pages may call, besides its own.
    var connectedOrigins: [String] { get }
}

extension Array<any APIFeature> {
    package func erasing(_ user: UserID, with useCases: UseCases) async throws(SignInError) -> [AccountEnding] {
        var endings: [AccountEnding] = []
        for feature in self {
            if let ending = try await feature.erasing(user, with: useCases) { endings.append(ending) }
        }
        return endings
    }
}

/// Ends what an account had elsewhere, once it is erased.
/// - Returns: What was done, each in a line for administrators.
package typealias AccountEnding = @Sendable () async -> [String]

/// Sign-ins by redirects, for features that send browsers to providers. One feature has it.
package protocol BrowserRedirects: Sendable {
    /// The path of the page that has the ways to sign in, with a query that has the browser go on to a URL afterwards
    /// if that is allowed.
    func signInPage(returningTo url: String?) -> String

    /// How long a browser may be away, in seconds.
    var lifetime: Int64 { get }

    /// Where a sign-in that this request cannot finish starts again, below the path of this server.
    func wayBack(from request: Request) -> (path: String, words: String)

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

/// The proofs that a request's sender has a key (DPoP, RFC 9449).
package protocol KeyProofs: Sendable {
    /// The proof of a request that has no session; nil without one.
    /// - Throws: 400 for one that does not hold.
    func proof(of request: Request, to api: LatchkeyAPI) throws(APIError) -> KeyProof?

    /// The session token of `Authorization: DPoP`, with its key in front (`SessionTokenFormat`); nil for another
    /// scheme.
    /// - Throws: 401 unless the request has a proof of that key and for that token.
    func token(of request: Request, to api: LatchkeyAPI) throws(APIError) -> Secret?
}

/// A proof that holds, if it was not used before.
package struct KeyProof: Sendable {
    /// The thumbprint of the key (RFC 7638).
    package let key: String
    /// Uses it up, for all instances.
    package let spend: @Sendable () async throws(SignInError) -> Void

    package init(key: String, spend: @escaping @Sendable () async throws(SignInError) -> Void) {
        (self.key, self.spend) = (key, spend)
    }
}

/// The registration of users, with a page for those who sign in on a page of this server.
package protocol PageRegistration: Registrar {
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
