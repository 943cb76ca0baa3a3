package import Primitives

/// A sign-in that this server started at a provider (OpenID Connect CIBA), stored until it ends and
/// a while longer.
///
/// The handle, the notification token and the provider's request id are stored as hashes only.
package struct BackchannelAuthenticationRecord: Sendable, Hashable {
    /// Its phase, apart from expiry.
    package enum Phase: String, Sendable, CaseIterable {
        /// The provider has not reported the user's answer. Stored as `waiting`.
        case pending = "waiting"
        /// The provider authenticated the user.
        case approved
        /// The client has the result.
        case done
        /// The provider refused, or its result was invalid.
        case failed
        /// The client cancelled it.
        case cancelled
    }

    /// The parameters of the request, which a retry repeats.
    package struct Terms: Sendable, Hashable {
        package var provider: String
        package var clientID: String
        /// Empty for a provider other than a carrier.
        package var network: String
        /// Empty for a provider other than a carrier.
        package var redirectURI: String
        /// Separated by spaces.
        package var scope: String
        /// Empty for a provider other than a carrier: a request to it is not repeated.
        package var loginHint: Secret
        /// Separated by spaces.
        package var acrValues: String?
        package var context: String?
        package var prompt: String?
        package var options: String?
        package var correlationID: String

        package init(
            provider: String, clientID: String, network: String, redirectURI: String, scope: String,
            loginHint: Secret, correlationID: String
        ) {
            self.provider = provider
            self.clientID = clientID
            self.network = network
            self.redirectURI = redirectURI
            self.scope = scope
            self.loginHint = loginHint
            self.correlationID = correlationID
        }
    }

    /// The hash of the client's handle.
    package let handle: TokenHash
    /// The caller that started it, the only one that may poll it.
    package let caller: TokenHash
    package let terms: Terms
    package var phase = Phase.pending
    /// How many requests were sent to the provider.
    package var attempt: Int64 = 1
    /// The hash of the token that the provider's notification of the latest request must have.
    package var notification: TokenHash
    /// The hash of the provider's id of the latest request (`auth_req_id`); nil until it is known.
    package var carrierRequest: TokenHash?
    /// Why it failed.
    package var failure: String?
    /// The authenticated identity.
    package var identity: Identity?
    /// The provider's claims about the user.
    package var profile = Profile()
    /// Which of the claims the provider verified.
    package var verified = VerifiedFlags()
    /// The provider's further claims, encrypted by the use case.
    package var claims: String?
    /// Former identities, as ``SignInRecord/portedFrom``.
    package var portedFrom: [PortedIdentity] = []
    /// How its tokens are fetched; nil if they come with the provider's notification.
    package var polling: TokenPolling?
    /// When the pending or approved phase expires.
    package var expiresAt: Timestamp
    /// When the record is removed.
    package var removedAt: Timestamp
    /// Counts the changes, so that of two concurrent ones only one is stored.
    package var revision: Int64 = 0

    package init(
        handle: TokenHash, caller: TokenHash, terms: Terms, notification: TokenHash, expiresAt: Timestamp,
        removedAt: Timestamp
    ) {
        self.handle = handle
        self.caller = caller
        self.terms = terms
        self.notification = notification
        self.expiresAt = expiresAt
        self.removedAt = removedAt
    }
}

/// Whether a request to a provider may be sent. Only an admitted one is counted.
package enum BackchannelAuthenticationAdmission: Sendable, Hashable {
    case admitted
    case tooManyOfCaller
    case tooManyPendingOfCaller
    case tooManyPendingForUser
    /// The caller has its part of those that may be pending for the user.
    case tooManyPendingForUserOfCaller
    case tooManyPendingAtProvider
    /// All callers together had the user prompted as often as they may.
    case promptedTooOften(secondsToWait: Int64)
    /// The caller had the user prompted as often as one caller may.
    case promptedTooOftenByCaller(secondsToWait: Int64)
    /// The caller had users prompted as often as one caller may who did not sign in.
    case tooManyPromptsOfCaller(secondsToWait: Int64)
}

/// The result of completing a backchannel authentication by signing its user in.
package enum BackchannelAuthenticationEnding: Sendable, Hashable {
    case signedIn(SignedInUser)
    /// The identity is unknown, and unknown identities are refused: no session was made.
    case unknownUser
    /// It was completed before, and the session of that time has ended: no session was made.
    case sessionEnded
    /// It was changed since it was read: nothing was stored.
    case changed
}

/// The most backchannel authentications that are stored at once.
public struct BackchannelAuthenticationLimits: Sendable, Hashable {
    /// Of one caller, in any phase.
    public var perCaller = 10_000
    /// Pending for one user, of all callers. One caller may have half of them, rounded up.
    public var pendingPerUser = 3
    /// Pending at one provider, of one API key, or of one address where there is no key. Well below
    /// ``pendingPerCarrier``, so that no caller can keep out all others.
    public var pendingPerCaller = 1_000
    /// Pending at one provider, of all callers.
    public var pendingPerCarrier = 10_000

    /// The default limits.
    public init() {}

    /// The part of ``pendingPerUser`` that one caller may have: one caller alone cannot keep a user from signing in
    /// elsewhere.
    package var pendingPerUserAndCaller: Int { (pendingPerUser + 1) / 2 }
}
