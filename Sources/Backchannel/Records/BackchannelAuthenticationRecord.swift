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

/// The state machine of backchannel authentication, which keeps no state.
extension BackchannelAuthenticationRecord.Phase {
    enum Event: String, Sendable, CaseIterable {
        /// The provider vouches for the user.
        case approval
        /// The provider says no.
        case refusal
        /// The client asks for the outcome.
        case poll
        /// The client wants the provider to ask the user again.
        case retry
        case cancellation
    }

    /// The effect of an event.
    enum Step: Sendable, Hashable {
        case becomes(BackchannelAuthenticationRecord.Phase)
        /// Nothing changes, without an error: duplicates, late notifications, and polls before there is an outcome.
        case stays
        /// An error for the client.
        case refused(BackchannelAuthenticationRecord.Phase)
    }

    func after(_ event: Event) -> Step {
        switch (self, event) {
        case (.pending, .approval): .becomes(.approved)
        case (.pending, .refusal): .becomes(.failed)
        // Duplicate and late notifications are ignored.
        case (_, .approval), (_, .refusal): .stays

        case (.pending, .poll), (.done, .poll): .stays
        case (.approved, .poll): .becomes(.done)
        case (_, .poll): .refused(self)

        case (.pending, .retry), (.failed, .retry), (.expired, .retry): .becomes(.pending)
        case (_, .retry): .refused(self)

        case (.cancelled, .cancellation): .stays
        case (.done, .cancellation): .refused(self)
        case (_, .cancellation): .becomes(.cancelled)
        }
    }
}

extension BackchannelAuthenticationRecord {
    func phase(at now: Timestamp) -> Phase {
        (phase == .pending || phase == .approved) && now >= expiresAt ? .expired : phase
    }

    /// The phase that an event leads to; nil if nothing changes.
    /// - Throws: Why an event of the client's is refused.
    func phase(after event: Phase.Event, at now: Timestamp) throws(SignInError) -> Phase? {
        switch phase(at: now).after(event) {
        case .becomes(let phase): return phase
        case .stays: return nil
        case .refused(.failed): throw (failure ?? .unknown).error
        case .refused(.cancelled): throw .backchannelCancelled
        case .refused(.expired): throw .backchannelExpired
        case .refused(.pending), .refused(.approved), .refused(.done): throw .backchannelCompleted
        }
    }
}

/// Why a backchannel authentication failed, stored until the client asks.
struct BackchannelAuthenticationFailure: Sendable, Hashable {
    /// As it is stored.
    let text: String

    static let contradiction = Self(text: "contradiction")
    /// The provider's tokens cannot be used.
    static let unusable = Self(text: "unusable")
    /// No reason is stored.
    static let unknown = Self(text: "")

    static func idToken(_ check: IDTokenCheck) -> Self { Self(text: "id_token:" + check.rawValue) }

    /// - Parameter code: As the provider sent it; `unknown_error` if it is not a valid error code.
    static func carrier(sending code: String) -> Self {
        carrier(OIDCError(.carrierRefused, carrierError: code, reason: "").carrierError ?? "unknown_error")
    }

    /// - Parameter code: A valid error code.
    static func carrier(_ code: String) -> Self { Self(text: "carrier:" + code) }

    /// A request that failed or was refused.
    static func request(_ error: SignInError) -> Self {
        carrier(error.providerCode ?? (error.errorType == .configurationError ? "invalid_client" : "server_error"))
    }

    /// The error for the client.
    var error: SignInError {
        let parts = text.split(ascii: ":", maxSplits: 1).map(String.init)
        switch (parts.first, parts.last) {
        case ("contradiction", _):
            return .carrierError("The provider contradicted itself about this sign-in. Start a new sign-in.")
        case ("unusable", _): return .carrierError("The provider's tokens cannot be used. Start a new sign-in.")
        case ("carrier", let code?): return .refusedBackchannel(code)
        case ("id_token", let name?):
            guard let check = IDTokenCheck(rawValue: name) else { break }
            return SignInError(.failed(check), codeWasPosted: true)
        default: break
        }
        return .refusedBackchannel("unknown_error")
    }
}
