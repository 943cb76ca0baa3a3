import CarrierSimulator
import Testing

/// One way in which a carrier or an app behaves, and what must come of it.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    typealias Carrier = CarrierSimulator.Carrier
    typealias Fields = [String: String]
    typealias Steps = @Sendable (ConformanceRun) async throws -> [App.Answer]

    /// What the app is told, and what the carrier saw.
    enum Verdict: String, Sendable {
        /// 200 with a session; one token request, and one userinfo request.
        case signedIn = "OK"
        /// 401; nothing is asked with what the bad token brought.
        case rejected = "REJ"
        /// 502, or 504 at the deadline, after the token request.
        case upstream = "UP"
        /// 502, or 504 at the deadline, at discovery: no token request.
        case configuration = "CFG"
        /// 400: the app has to do something else; no token request.
        case request = "400"
        /// Refused where the browser comes back: told to the frontend, or on a page if there is none to tell. No token
        /// request.
        case callback = "CB"
        /// The user was asked on the phone, and the carrier's word was not taken for an answer: nobody is signed in yet.
        case waiting = "WAIT"
        /// The session is over: 200, or sent back.
        case loggedOut = "OUT"
        /// None of these.
        case unexpected = "?"
    }

    /// How users sign in.
    enum Flow: Sendable {
        /// The app has the code.
        case code
        /// A browser is sent to the carrier and back.
        case redirect
        /// The carrier asks its user on the phone.
        case phone
        /// Who is signed in approves a transaction with a code of its own.
        case transaction
    }

    let id: String
    let verdict: Verdict
    var flow = Flow.code
    var clientID = Stage.clientID
    /// What the description has to contain: the name of the check, where it matters.
    var says = ""
    /// What kind of carrier it is. Nothing of this is wrong, so that it holds for the positive twin as well.
    var nature: [@Sendable (inout Carrier) -> Void] = []
    var faults: Set<CarrierSimulator.Fault> = []
    var tampering = CarrierSimulator.Tampering()
    /// What endpoints answer instead of proper HTTP.
    var scripts: [CarrierFront.Endpoint: CarrierFront.Script] = [:]
    var scope = "openid name email"
    var acr: String?
    var context: String?
    /// What the app sends otherwise than it should.
    var appEdit: (@Sendable (inout Fields) -> Void)?
    /// What the browser brings back otherwise than it was given.
    var callbackEdit: (@Sendable (inout [Returned.Item]) -> Void)?
    /// What the carrier is answered when it tells of the user's approval.
    var notified = [204]
    /// What happens instead of one sign-in; all its answers must be the verdict's.
    var steps: Steps?
    var isPinned = false
    /// Whether it is about the end of sessions.
    var isLogout = false
    /// What the carrier must have seen, where it is not what verdict and flow say.
    var tokenPosts: Int?
    var keyFetches: ClosedRange<Int>?
    /// Whether the carrier cannot be well again at once, because what it said is kept for a while as it should be; then
    /// another one must be.
    var recoversElsewhere = false
    /// Seconds after which it must be well again all the same.
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
