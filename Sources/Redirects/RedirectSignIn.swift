import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Signs a user in whose browser is sent to the provider and back: for web frontends, secondary devices, and apps that
/// use a browser session.
///
/// `state`, `nonce` and the code verifier are made and kept here. Each `state` is good once, for ten minutes.
struct RedirectSignIn: Sendable {
    let useCases: UseCases
    /// The sign-ins that this process has started and that have not come back.
    let pendingStarts: OneTimeRecordQuota
    /// The records of codes that browsers brought.
    let answeredCodes: OneTimeRecordQuota
    /// Nil if no feature has one.
    let errand: SessionErrand?

    var environment: Environment { useCases.environment }
    var oneTimeStore: EncryptedOneTimeStore { useCases.oneTimeStore }

    static func hash(_ browser: Secret) -> String {
        Base64URL.encode(TokenHash(sha256Of: browser.exposed).bytes)
    }
}

/// The end of a redirect sign-in, for the frontend at the start's `redirectURI`.
struct RedirectEnd: Sendable {
    enum Result: Sendable {
        /// The browser gets the session in cookies.
        case signedIn(SignedIn)
        /// The frontend exchanges this `session_id` for the session, once. It is the session token if the start
        /// demanded that (``RedirectStart/sessionIDIsSession``) and had no `code_challenge`.
        case handedOver(sessionID: Secret)
        /// The errand of a session has ended well: what a popup's last page says.
        case errandDone(String)
        case mustRegister(RegistrationOffer)
        /// A group has ended its task, and the frontend gets these query parameters.
        case taskEnded([(name: String, value: String)])
        case failed(SignInError)
    }

    let start: RedirectStart
    let correlationID: CorrelationID
    /// What the browser was sent away for.
    let purpose: [(name: String, value: String)]
    let result: Result

    /// The query parameters for the frontend (docs/web-frontends.md).
    var items: [(name: String, value: String)] {
        switch result {
        case .signedIn, .errandDone: success
        case .handedOver(let sessionID): success + [("session_id", sessionID.exposed)]
        case .mustRegister(let offer):
            [
                ("action", "register"), ("status", "partial"), ("state_key", offer.handle.exposed),
                ("identifier", offer.profile[.email] ?? ""),
            ]
        case .taskEnded(let parameters): purpose + parameters
        case .failed(let error):
            purpose + [
                ("status", "failure"), ("message", error.userMessage),
                ("error", error.codeText), ("error_description", error.description),
                ("correlation_id", correlationID.text),
            ]
        }
    }

    private var success: [(name: String, value: String)] {
        purpose + [("status", "success"), ("tracking_id", start.trackingID ?? correlationID.text)]
    }

    /// The URI that the browser is sent to.
    var location: String { AppRedirectURI.appending(items, to: start.redirectURI) }

    /// Where the browser goes once a user who must register has done so; nil unless the sign-in ended at a page of this
    /// server's own origin, in the browser that began it.
    func locationAfterRegistration(at ownOrigin: String?) -> String? {
        guard start.clientType == .web || start.clientType == .popup, let origin, origin == ownOrigin else {
            return nil
        }
        return AppRedirectURI.appending(success, to: start.redirectURI)
    }

    /// The origin of that URI, the only one that a popup tells; nil for an app's own scheme.
    var origin: String? { AppRedirectURI.origin(of: start.redirectURI) }
}

/// Where the browser goes next.
enum RedirectStep: Sendable {
    /// To the choice of a carrier, or to the provider, within so many seconds. `browser` is for a cookie that must come
    /// back with the response.
    case goOn(to: String, withinSeconds: Int64, browser: Secret?)
    case finished(RedirectEnd)
}
