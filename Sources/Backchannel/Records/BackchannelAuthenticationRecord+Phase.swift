import OpenIDConnect
import Primitives
import SignIn

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
