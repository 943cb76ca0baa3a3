public import OpenIDConnect
public import Primitives
import Storage

/// What kind of frontend a redirect sign-in is for, which decides how its end is told.
public enum ClientType: String, Sendable, CaseIterable {
    /// A page in the same browser: the session travels in a cookie.
    case web
    case ios
    case android
    /// A window of its own that tells the page that opened it.
    case popup
    /// A page of another origin in the same browser, to which a cookie of this server's is of no use: it gets a
    /// `session_id` like an app, good only with its code verifier.
    case spa

    /// Whether the browser that starts is the one that must come back.
    var isBoundToBrowser: Bool { self == .web || self == .popup || self == .spa }
}

/// A sign-in by redirects, as a frontend asks for it.
public struct RedirectStart: Sendable {
    public var provider: String
    /// The app; may be left out where the provider has one client only.
    public var clientID: ClientID?
    public var clientType: ClientType
    /// Where the browser ends up: one of the client's registered redirect URIs.
    public var redirectURI: String
    /// This server's own place for the carrier to come back to, registered with the carrier.
    public var callbackURL: String
    /// The network, where the frontend knows it; otherwise the user is asked for the carrier.
    public var network: MCCMNC?
    /// Those of the client, if there are none.
    public var scopes: [String] = []
    public var acrValues: [String] = []
    public var context: String?
    public var prompt: String?
    public var loginHint: String?
    /// The S256 challenge of the verifier that an app will show for its session; not the one the carrier sees.
    public var codeChallenge: String?
    /// Handed back with a success, as it came.
    public var trackingID: String?
    public var correlationID: CorrelationID?
    /// The id of the session whose user adds a way to sign in.
    var linkingSession: String?

    public init(provider: String, clientType: ClientType, redirectURI: String, callbackURL: String) {
        self.provider = provider
        self.clientType = clientType
        self.redirectURI = redirectURI
        self.callbackURL = callbackURL
    }
}

/// What a browser brings back from the carrier or from the choice of one.
public struct RedirectAnswer: Sendable {
    public var provider: String
    public var state: Secret?
    public var code: Secret?
    /// From the choice of a carrier.
    public var network: MCCMNC?
    /// From the choice of a carrier on a secondary device.
    public var loginHintToken: String?
    public var error: String?
    /// Who answers, if it says so (RFC 9207).
    public var issuer: String?

    public init(provider: String) {
        self.provider = provider
    }
}

/// Where the browser goes next.
public enum RedirectStep: Sendable {
    /// To the choice of a carrier, or to the carrier. `browser` is for a cookie that must come back with the answer.
    case goOn(to: String, browser: Secret?)
    case finished(RedirectEnd)
}

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
                ("identifier", offer.profile.email ?? ""),
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
