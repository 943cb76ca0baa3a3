public import Primitives
import StorageModel

/// How a redirect sign-in ended, for the frontend at `redirectURI`.
public struct RedirectEnd: Sendable {
    public enum Result: Sendable {
        /// In the browser's own cookie.
        case signedIn(SignedIn)
        /// To be had once, with this `session_id`.
        case handedOver(sessionID: Secret)
        /// The user who was signed in has one more way to sign in.
        case linked
        case mustRegister(RegistrationOffer)
        case failed(SignInError)
    }

    public let clientType: ClientType
    public let redirectURI: String
    public let trackingID: String?
    /// Whether it was to add a way to sign in.
    let isLink: Bool
    public let result: Result

    /// The end in the words of docs/redirects.md.
    public var items: [(name: String, value: String)] {
        switch result {
        case .signedIn, .linked: success
        case .handedOver(let sessionID): success + [("session_id", sessionID.exposed)]
        case .mustRegister(let offer):
            [
                ("action", "register"), ("status", "partial"), ("state_key", offer.handle.exposed),
                ("identifier", offer.profile[.email] ?? ""),
            ]
        case .failed(let error):
            [
                action, ("status", "failure"), ("message", error.description),
                ("error", error.code.text),
            ]
        }
    }

    private var action: (name: String, value: String) { ("action", isLink ? "link" : "login") }

    private var success: [(name: String, value: String)] {
        [action, ("status", "success")] + (trackingID.map { [("tracking_id", $0)] } ?? [])
    }

    /// Where the browser goes with it.
    public var location: String { AppRedirectURI.appending(items, to: redirectURI) }

    /// The origin of ``redirectURI``, which alone may hear of it from a popup; nil for an app's own scheme.
    public var origin: String? { AppRedirectURI.origin(of: redirectURI) }
}
