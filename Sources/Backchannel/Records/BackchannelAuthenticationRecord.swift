import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// A sign-in that this server started at a provider (OpenID Connect CIBA), stored until it ends and
/// a while longer.
///
/// The handle, the notification token and the provider's request id are stored as hashes only.
struct BackchannelAuthenticationRecord: Sendable, Hashable {
    enum Phase: String, Sendable, CaseIterable {
        /// The provider has not reported the user's answer.
        case pending
        /// The provider authenticated the user.
        case approved
        /// The client has the result.
        case done
        /// The provider refused, or its result was invalid.
        case failed
        case cancelled
        /// Pending or approved, and too old. It is not stored.
        case expired
    }

    /// What was asked for, which a retry repeats.
    struct Terms: Sendable, Hashable {
        /// Whom a carrier is asked about, and how (ZenKey's server-initiated authorization).
        struct CarrierRequest: Sendable, Hashable {
            var loginHint: LoginHint
            var network: MCCMNC
            var redirectURI: String
            var options: String?
        }

        /// The provider's name in paths.
        var provider: String
        var clientID: ClientID
        var demand: AuthenticationDemand
        /// Nil for a provider other than a carrier: a request to it is not repeated.
        var carrier: CarrierRequest?
        var correlationID: CorrelationID

        var network: MCCMNC? { carrier?.network }
    }

    /// The user that the provider vouches for.
    struct VouchedUser: Sendable, Hashable {
        var identity: Identity
        /// The provider's claims.
        var profile = Profile()
        /// Which of the claims the provider verified.
        var verified = VerifiedFlags()
        /// The provider's further claims, encrypted by the use case.
        var claims: String?
        /// Former identities, as ``SignInRecord/portedFrom``.
        var portedFrom: [PortedIdentity] = []
    }

    let handle: TokenHash
    /// The caller that started it, the only one that may poll it.
    let caller: TokenHash
    let terms: Terms
    var phase = Phase.pending
    /// How many requests were sent to the provider.
    var attempt: Int64 = 1
    /// The hash of the token that the provider's notification of the latest request must have.
    var notification: TokenHash
    /// The hash of the provider's id of the latest request (`auth_req_id`); nil until it is known.
    var carrierRequest: TokenHash?
    var failure: BackchannelAuthenticationFailure?
    /// Nil until the user has approved.
    var user: VouchedUser?
    /// How its tokens are fetched; nil if they come with the provider's notification.
    var polling: TokenPolling?
    /// When the pending or approved phase expires.
    var expiresAt: Timestamp
    var removedAt: Timestamp
    /// Counts the changes, so that of two concurrent ones only one is stored.
    var revision: Int64 = 0
}

/// The result of completing a backchannel authentication by signing its user in.
enum BackchannelAuthenticationEnding: Sendable, Hashable {
    case signedIn(SignedInUser)
    /// The identity is unknown, and unknown identities are refused: no session was made.
    case unknownUser
    /// It was completed before, and the session of that time has ended: no session was made.
    case sessionEnded
    /// It was changed since it was read: nothing was stored.
    case changed
}
