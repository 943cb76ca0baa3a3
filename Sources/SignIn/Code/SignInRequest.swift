package import OpenIDConnect
package import Primitives
package import StorageModel

/// An app's request for a sign-in with an authorization code.
package struct SignInRequest: Sendable {
    package var provider: ProviderReference
    package var clientID: ClientID
    /// The authorization code, or what stands in for it.
    package var code: Secret
    /// Whether ``code`` is a TS.43 temporary token of a mobile operator.
    package var isOperatorToken = false
    /// The network of the carrier; nil for a provider that is no carrier.
    package var network: MCCMNC?
    /// The redirect URI of the authorization request.
    package var redirectURI: String
    package var codeVerifier: CodeVerifier?
    /// The key that the authorization request named (RFC 9449 section 10); nil if it named none.
    var dpopKey: DPoPKey?
    /// The nonce of the authorization request; if given, the ID token must have it.
    package var nonce: Secret?
    /// What the authorization request asked of the provider.
    package var demand = AuthenticationDemand()
    package var state: String?
    /// The app's id for this sign-in; a random one if nil.
    package var correlationID: CorrelationID?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    package var sentNames: [String: String] = [:]
    /// Whether this server sent the browser to the carrier: the redirect URI and the nonce are its own then.
    var isRedirectFlow = false
    /// Identifies the caller, by a hash of its API key or origin. Nil for a browser, which has a `state` instead, and
    /// for a link, which has a session.
    package var caller: TokenHash?
    /// Whether it came without an API key, as from a page. For the limit of capsules.
    package var isKeyless = false
    /// A name for the user's device; for the list of sessions.
    package var device: String?

    /// The challenge of a redirect's start: a registration that follows must present its verifier.
    var registrationChallenge: String?

    /// Whether the redirect URI is this server's own, or there is none.
    var hasOwnRedirectURI: Bool { isRedirectFlow || isOperatorToken }

    /// Whether the request needs an ID token to confirm it.
    var needsIDToken: Bool { nonce != nil && !isRedirectFlow || demand.needsIDToken }

    /// A sign-in with a TS.43 temporary token, at an operator.
    package init(operatorToken: Secret, provider: ProviderReference, clientID: ClientID) {
        self.init(provider: provider, clientID: clientID, code: operatorToken, network: nil, redirectURI: "")
        isOperatorToken = true
    }

    package init(
        provider: ProviderReference, clientID: ClientID, code: Secret, network: MCCMNC?, redirectURI: String
    ) {
        self.provider = provider
        self.clientID = clientID
        self.code = code
        self.network = network
        self.redirectURI = redirectURI
    }
}

/// What a sign-in asks of the provider: for which claims, and how the user shall be authenticated (OpenID Connect Core
/// section 3.1.2.1).
package struct AuthenticationDemand: Sendable {
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
    var since: Timestamp?

    package init() {}

    /// Whether only an ID token can confirm it.
    var needsIDToken: Bool { !acrValues.isEmpty || context != nil || maximumAge != nil }
}

/// As it is stored with a sign-in under way, and as a capsule shows it.
extension AuthenticationDemand {
    /// How recently the user must have authenticated: two numbers, each empty if it is nil. Nil if nothing is demanded.
    var recency: String? {
        guard maximumAge != nil || since != nil else { return nil }
        return "\(maximumAge.map(String.init) ?? "") \(since.map { String($0.secondsSinceEpoch) } ?? "")"
    }

    /// Reads ``recency``; false for a text that it cannot be.
    mutating func read(recency text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 2 else { return false }
        let numbers = words.map { Int64(Substring($0)) }
        maximumAge = numbers[0]
        since = numbers[1].map { Timestamp(secondsSinceEpoch: $0) }
        return recency?.hasSameBytes(as: text) ?? false && (0...Self.longestMaximumAge).contains(maximumAge ?? 0)
    }

    /// The scopes and what else an ID token confirms.
    var capsuleMembers: [CapsuleSubject.Member] {
        [
            ("scopes", .words(scopes)), ("acr_values", acrValues.isEmpty ? nil : .words(acrValues)),
            ("context", context.map { .secret(Secret($0)) }),
        ]
    }
}

/// `prompt` as it is stored with a sign-in under way.
extension Prompt {
    /// Nil if there is no value.
    static func text(_ prompt: [Prompt]) -> String? {
        prompt.isEmpty ? nil : prompt.map(\.rawValue).joined(separator: " ")
    }

    /// The stored values. An unknown one, which an earlier version did not refuse, is left out.
    static func stored(_ text: String) -> [Prompt] {
        text.split(ascii: " ").compactMap { Prompt(rawValue: String($0)) }
    }
}
