package import OpenIDConnect
package import Primitives

/// An app's request for a sign-in with an authorization code.
///
/// A class, because it is large: each function that passes it on would copy it.
package final class SignInRequest: Sendable {
    package let provider: ProviderReference
    package let clientID: ClientID
    /// The authorization code, or what stands in for it.
    package let code: Secret
    /// Whether ``code`` is a token that stands in for a code. Only groups of servers take one.
    package let standsInForCode: Bool
    /// The network of the carrier; nil for other providers.
    package let network: MCCMNC?
    /// The redirect URI of the authorization request; empty for a token that stands in for the code.
    package let redirectURI: String
    package let codeVerifier: CodeVerifier?
    /// The key that the authorization request named (RFC 9449 section 10); nil if it named none.
    let dpopKey: DPoPKey?
    /// The nonce of the authorization request; if given, the ID token must have it.
    package let nonce: Secret?
    /// What the authorization request asked of the provider.
    package let demand: AuthenticationDemand
    package let state: String?
    /// The app's id for this sign-in; a random one if nil.
    package let correlationID: CorrelationID?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    package let sentNames: [String: String]
    /// Whether this server sent the browser to the provider: the redirect URI and the nonce are its own then.
    package let isRedirectFlow: Bool
    /// Who sent it. Nil for a browser, which has a `state` instead, and for a link, which has a session.
    package let caller: Caller?
    /// A name for the user's device; for the list of sessions.
    package let device: String?
    /// The challenge of a redirect's start: a registration that follows must present its verifier.
    let registrationChallenge: String?

    /// Whether it came without an API key, as from a page. For ``FailedOperation/origin``.
    var isKeyless: Bool { caller?.isKeyless ?? false }

    /// Whether the redirect URI is this server's own, or there is none.
    var hasOwnRedirectURI: Bool { isRedirectFlow || standsInForCode }

    /// Whether the request needs an ID token to confirm it.
    var needsIDToken: Bool { nonce != nil && !isRedirectFlow || demand.needsIDToken }

    /// A sign-in with a token that stands in for a code.
    package init(
        token: Secret, provider: ProviderReference, clientID: ClientID, correlationID: CorrelationID?,
        sentNames: [String: String] = [:], caller: Caller? = nil, device: String? = nil
    ) {
        (self.provider, self.clientID, self.correlationID) = (provider, clientID, correlationID)
        (self.sentNames, self.caller, self.device) = (sentNames, caller, device)
        (code, standsInForCode, isRedirectFlow) = (token, true, false)
        (network, redirectURI, codeVerifier, dpopKey) = (nil, "", nil, nil)
        (nonce, demand, state, registrationChallenge) = (nil, AuthenticationDemand(), nil, nil)
    }

    /// A sign-in of an app that was at the provider itself.
    package init(
        provider: ProviderReference, clientID: ClientID, code: Secret, network: MCCMNC?, redirectURI: String,
        codeVerifier: CodeVerifier?, nonce: Secret?, demand: AuthenticationDemand = AuthenticationDemand(),
        state: String? = nil, correlationID: CorrelationID? = nil, sentNames: [String: String] = [:],
        caller: Caller? = nil, device: String? = nil
    ) {
        (self.provider, self.clientID, self.code, self.network) = (provider, clientID, code, network)
        (self.redirectURI, self.codeVerifier, self.nonce, self.demand) = (redirectURI, codeVerifier, nonce, demand)
        (self.state, self.correlationID, self.sentNames) = (state, correlationID, sentNames)
        (self.caller, self.device) = (caller, device)
        (standsInForCode, isRedirectFlow) = (false, false)
        (dpopKey, registrationChallenge) = (nil, nil)
    }

    /// The sign-in of a browser that this server sent to the provider.
    package init(
        _ start: RedirectStart, clientID: ClientID, code: Secret, network: MCCMNC?, codeVerifier: CodeVerifier,
        dpopKey: DPoPKey?, nonce: Secret, correlationID: CorrelationID, device: String?
    ) {
        (self.code, self.network, self.nonce, self.codeVerifier) = (code, network, nonce, codeVerifier)
        (provider, self.clientID, redirectURI) = (start.provider, clientID, start.callbackURL)
        (demand, registrationChallenge) = (start.demand, start.codeChallenge)
        (self.dpopKey, self.correlationID, self.device) = (dpopKey, correlationID, device)
        (standsInForCode, isRedirectFlow) = (false, true)
        (state, sentNames, caller) = (nil, [:], nil)
    }
}

/// What a sign-in asks of the provider: for which claims, and how the user shall be authenticated (OpenID Connect Core
/// section 3.1.2.1).
package struct AuthenticationDemand: Sendable, Hashable {
    /// The longest `max_age`, in seconds: one year.
    package static let longestMaximumAge: Int64 = 31_536_000

    /// The scopes asked for.
    package var scopes: [String] = []
    /// The authentication contexts asked for. Any of them will do.
    package var acrValues: [String] = []
    /// The text that the user is asked to approve.
    package var context: String?
    package var prompt: [Prompt] = []
    /// Whom the provider may expect to sign in.
    package var loginHint: String?
    /// How long ago the user may have authenticated, in seconds (`max_age`), up to ``longestMaximumAge``; nil if it is
    /// not limited.
    package var maximumAge: Int64?
    /// The time before which the user must not have authenticated: the start of a sign-in with `prompt=login`.
    package var since: Timestamp?

    package init() {}

    /// Whether only an ID token can confirm it.
    package var needsIDToken: Bool { !acrValues.isEmpty || context != nil || maximumAge != nil }
}

/// The form that is stored with a sign-in under way, and the form that the observer of failures gets.
extension AuthenticationDemand {
    /// How recently the user must have authenticated: two numbers, each empty if it is nil. Nil if nothing is demanded.
    package var recency: String? {
        guard maximumAge != nil || since != nil else { return nil }
        return "\(maximumAge.map(String.init) ?? "") \(since.map { String($0.secondsSinceEpoch) } ?? "")"
    }

    /// Reads ``recency``; false for a text that it cannot be.
    package mutating func read(recency text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 2 else { return false }
        let numbers = words.map { Int64(Substring($0)) }
        maximumAge = numbers[0]
        since = numbers[1].map { Timestamp(secondsSinceEpoch: $0) }
        return recency?.hasSameBytes(as: text) ?? false && (0...Self.longestMaximumAge).contains(maximumAge ?? 0)
    }

    /// The scopes and what else an ID token confirms.
    package var failureMembers: [FailedOperation.Member] {
        [
            ("scopes", .words(scopes)), ("acr_values", acrValues.isEmpty ? nil : .words(acrValues)),
            ("context", context.map { .secret(Secret($0)) }),
        ]
    }
}
