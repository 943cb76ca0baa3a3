public import Primitives

/// What one sign-in demands of its ID token, beside ``IDTokenRules``.
public struct IDTokenExpectation: Sendable {
    /// The client the token must be meant for.
    public var clientID: ClientID
    /// The nonce sent with the authorization request; nil if none was, and then a nonce in the token is ignored.
    public var nonce: String?
    /// Whether a token without a nonce will do where one was sent: a token that came with a notification is bound to its
    /// request by the notification token already, and not every carrier repeats the nonce there.
    public var nonceMayBeMissing = false
    /// The carrier's name for the request, which a token that came with a notification may repeat (CIBA Core section
    /// 10.3.1).
    public var requestID: Secret?
    /// The authentication contexts asked for, any of which will do; empty if none was asked for.
    public var acrValues: [String]
    /// How many seconds ago the user may have authenticated at most; nil if it was not asked.
    public var maximumAuthenticationAge: Int64?
    /// The text the user was asked to approve; nil if none was.
    public var context: String?
    /// The access token that came with the ID token, for `at_hash`.
    public var accessToken: Secret?

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
