public import Primitives

/// What one sign-in demands of its ID token, beside ``IDTokenRules``.
public struct IDTokenExpectation: Sendable {
    /// The client that the token must be for.
    public var clientID: ClientID
    /// What the provider may sign the client's tokens with: the client's `id_token_signed_response_alg`, if it has one
    /// (OpenID Connect Dynamic Client Registration section 2).
    public var signingAlgorithms = SigningAlgorithm.standard
    /// The nonce sent with the authorization request. Nil if none was sent; a nonce in the token is ignored then.
    public var nonce: String?
    /// Whether a token without a nonce is accepted although one was sent. A token that came with a notification is
    /// bound to its request by the notification token, and not every carrier repeats the nonce there.
    public var nonceMayBeMissing = false
    /// The provider's id of the request, which a token that came with a notification may repeat (CIBA Core section
    /// 10.3.1).
    public var requestID: Secret?
    /// The requested authentication contexts, one of which the token must have; empty if none was requested.
    public var acrValues: [String]
    /// How long ago the user may have authenticated, in seconds (`max_age`); nil if it was not limited.
    public var maximumAuthenticationAge: Int64?
    /// The time before which the user must not have authenticated, if the token says when; nil for any time.
    public var authenticatedSince: Timestamp?
    /// The text the user was asked to approve; nil if there was none.
    public var context: String?
    /// The access token that came with the ID token, for `at_hash`.
    public var accessToken: Secret?
    /// The ID token of the sign-in, if this one came with a refresh (OpenID Connect Core section 12.2).
    public var original: OriginalIDToken?
    /// When the token arrived, by which its times are judged; nil for the time of the call.
    public var receivedAt: Timestamp?

    /// An expectation of the client and of what was requested.
    public init(
        clientID: ClientID, nonce: String? = nil, acrValues: [String] = [], maximumAuthenticationAge: Int64? = nil,
        context: String? = nil, accessToken: Secret? = nil
    ) {
        self.clientID = clientID
        self.nonce = nonce
        self.acrValues = acrValues
        self.maximumAuthenticationAge = maximumAuthenticationAge
        self.context = context
        self.accessToken = accessToken
    }
}

/// What is demanded of every ID token.
public struct IDTokenRules: Sendable, Hashable {
    /// The accepted values of the header parameter `typ`.
    public var types = IDTokenType.standard
    /// How far the provider's clock may be off, in seconds.
    public var clockSkewSeconds: Int64 = 60
    /// How long ago a token may have been issued, in seconds, beside the clock skew.
    public var maximumAgeSeconds: Int64 = 600
    /// The longest token that is read, in bytes.
    public var maximumBytes = 16 * 1024

    /// The defaults.
    public init() {}
}
