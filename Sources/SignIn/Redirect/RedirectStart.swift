package import OpenIDConnect
import Primitives

/// A frontend's request for a redirect sign-in.
package struct RedirectStart: Sendable {
    package var provider: ProviderReference
    /// The app; nil if the provider has one client only.
    package var clientID: ClientID?
    package var clientType: ClientType
    /// Where the sign-in ends: one of the client's registered redirect URIs.
    package var redirectURI: String
    /// This server's own redirect URI, registered with the carrier.
    package var callbackURL: String
    /// The network; nil to let the user choose the carrier.
    package var network: MCCMNC?
    /// The mobile operator's name, for a provider that has several.
    package var operatorName: String?
    /// A number that Telco Finder finds the mobile operator by. It is neither stored nor sent to the operator.
    package var phoneNumber: MSISDN?
    /// What to ask of the provider. Without scopes, the client's.
    package var demand = AuthenticationDemand()
    /// The S256 challenge of the verifier that the app will present for its session. The carrier gets another one.
    package var codeChallenge: String?
    /// Returned unchanged with a success; the correlation id, if nil.
    package var trackingID: String?
    /// Whether the frontend uses the `session_id` of the outcome as its session, as those made for Zephr do.
    package var sessionIDIsSession = false
    package var correlationID: CorrelationID?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    package var sentNames: [String: String] = [:]
    /// Who begins: a browser without an API key, or an app.
    package var caller = CallerTerms()
    /// The id of the session whose user adds an identity; nil for a sign-in.
    var linkingSession: String?
    /// The id of the verification of a signed-in user's phone number that this is for; nil for a sign-in.
    var verification: Secret?

    /// Whether a success has a `session_id`.
    var endsWithSessionID: Bool { clientType != .web && linkingSession == nil }

    package init(
        provider: ProviderReference, clientType: ClientType, redirectURI: String, callbackURL: String
    ) {
        self.provider = provider
        self.clientType = clientType
        self.redirectURI = redirectURI
        self.callbackURL = callbackURL
    }
}

/// The kind of frontend of a redirect sign-in, which decides how it gets the session.
package enum ClientType: String, Sendable, CaseIterable {
    /// A page in the same browser: the session travels in a cookie.
    case web
    case ios
    case android
    /// A separate window, which posts the outcome to the page that opened it.
    case popup
    /// A page of another origin in the same browser, which cannot use this server's cookies. Like an app, it gets a
    /// `session_id`, good only with its code verifier.
    case spa

    /// Whether the browser that starts must be the one that comes back.
    var isBoundToBrowser: Bool { self == .web || self == .popup || self == .spa }
}
