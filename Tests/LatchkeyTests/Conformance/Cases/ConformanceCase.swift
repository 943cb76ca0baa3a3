import CarrierSimulator
import Primitives
import Testing

/// A behaviour of a carrier or an app, and the expected verdict.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    typealias Carrier = CarrierSimulator.Carrier
    typealias Fields = [String: String]
    typealias Steps = @Sendable (ConformanceRun) async throws -> [App.Answer]

    /// The response to the app, and the carrier's requests.
    enum Verdict: String, Sendable {
        /// 200 with a session; one token request, and one userinfo request.
        case signedIn = "OK"
        /// 401; the tokens of the response are not used.
        case rejected = "REJ"
        /// 502, or 504 at the deadline, after the token request.
        case upstream = "UP"
        /// 502, or 504 at the deadline, at discovery: no token request.
        case configuration = "CFG"
        /// 400: the app's request is invalid; no token request.
        case request = "400"
        /// Refused at the callback, or before the browser is sent to the carrier: an error for the frontend, or a page
        /// if there is no frontend. No token request.
        case callback = "CB"
        /// The notification of a backchannel authentication was refused: the sign-in is still
        /// pending.
        case waiting = "WAIT"
        /// The session has ended: 200, or a redirect.
        case loggedOut = "OUT"
        /// None of these.
        case unexpected = "?"
    }

    /// The kind of sign-in.
    enum Flow: Sendable {
        /// The app has the code.
        case code
        /// Redirects of a browser.
        case redirect
        /// Backchannel authentication.
        case phone
        /// A signed-in user approves a transaction with another code.
        case transaction
    }

    let id: String
    let verdict: Verdict
    var flow = Flow.code
    var clientID = SignInHarness.clientID
    /// A part of the error description: the name of the failed check, if it matters.
    var says = ""
    /// The kind of carrier. It is correct, so the positive twin has it too.
    var nature: [@Sendable (inout Carrier) -> Void] = []
    var faults: Set<CarrierSimulator.Fault> = []
    var tampering = CarrierSimulator.Tampering()
    /// Raw responses of endpoints in place of HTTP.
    var scripts: [CarrierProxy.Endpoint: CarrierProxy.Script] = [:]
    var scope = "openid name email"
    var acr: String?
    var context: String?
    /// An edit of the app's request.
    var appEdit: (@Sendable (inout Fields) -> Void)?
    /// An edit of the browser's authorization response.
    var callbackEdit: (@Sendable (inout [AuthorizationCallback.Item]) -> Void)?
    /// The statuses of the notifications' responses.
    var notified = [204]
    /// Steps that replace the sign-in; every response must have the verdict.
    var steps: Steps?
    var isPinned = false
    /// Whether the case is a logout.
    var isLogout = false
    /// The expected token requests, if they differ from the verdict's and flow's.
    var tokenPosts: Int?
    var keyFetches: ClosedRange<Int>?
    /// Whether the carrier cannot work again at once because its response is cached; then
    /// another carrier must.
    var recoversElsewhere = false
    /// Seconds after which the carrier must work again.
    var recovery: Int?

    var testDescription: String { id }

    init(_ id: String, _ verdict: Verdict, says: String = "", _ changes: [Change]) {
        self.id = id
        self.verdict = verdict
        self.says = says
        for change in changes { change.apply(&self) }
    }

    static func ok(_ id: String, _ changes: Change...) -> Self { Self(id, .signedIn, changes) }
    static func rejected(_ id: String, _ check: String, _ changes: Change...) -> Self {
        Self(id, .rejected, says: check, changes)
    }
    static func upstream(_ id: String, _ changes: Change...) -> Self { Self(id, .upstream, changes) }
    static func configuration(_ id: String, _ changes: Change...) -> Self { Self(id, .configuration, changes) }
    static func callback(_ id: String, _ changes: Change...) -> Self { Self(id, .callback, [.redirect] + changes) }
    static func loggedOut(_ id: String, _ changes: Change...) -> Self { Self(id, .loggedOut, changes) }
    static func request(_ id: String, _ changes: Change...) -> Self { Self(id, .request, changes) }
}
