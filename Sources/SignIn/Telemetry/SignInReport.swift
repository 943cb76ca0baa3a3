package import OpenIDConnect

/// The outcome and the duration of one sign-in. It names no user, code or token.
package struct SignInReport: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign_in"
        case link
        case transaction
        case backchannelAuthentication = "server_initiated"
    }

    /// The steps of a sign-in, described in docs/logs.md.
    package enum Step: String, Sendable, CaseIterable {
        case recall
        case discovery
        case attempt
        case request
        case token
        case keys
        case validate
        case userinfo
        case migrate
        case store
    }

    package let kind: Kind
    /// The name of the configured provider; nil if the request named none.
    package let provider: String?
    /// The carrier's network; nil if discovery does not know it, and for providers that are no carriers.
    package let network: MCCMNC?
    package let outcome: Outcome
    /// The check of the ID token that failed, if one did.
    package let check: IDTokenCheck?
    /// Who caused a failure; nil after a success.
    package let fault: SignInError.Fault?
    /// The steps in order, each with its duration in nanoseconds.
    package let steps: [(step: Step, nanoseconds: UInt64)]
    /// The duration of the whole sign-in.
    package let nanoseconds: UInt64
}

/// Called at the end of every sign-in. It must return quickly.
package typealias SignInObserver = @Sendable (SignInReport) -> Void

extension SignInReport {
    /// The outcome: the `error` of the response, with one value for all codes of the carriers' own.
    package enum Outcome: String, Sendable, CaseIterable {
        case signedIn = "signed_in"
        case signedUp = "signed_up"
        case mustRegister = "must_register"
        case linked
        case wasLinked = "was_linked"
        case authorized
        case invalidRequest = "invalid_request"
        case invalidToken = "invalid_token"
        case insufficientUserAuthentication = "insufficient_user_authentication"
        case invalidIDToken = "invalid_id_token"
        case refusedByCarrier = "refused_by_carrier"
        case invalidGrant = "invalid_grant"
        case emailDomainBlocked = "email_domain_blocked"
        case userAlreadyExists = "user_already_exists"
        case lastIdentity = "last_identity"
        case notFound = "not_found"
        case grantMissing = "grant_missing"
        case grantRevoked = "grant_revoked"
        case expired = "expired_token"
        case rateLimited = "rate_limited"
        case carrierError = "carrier_error"
        case carrierTimeout = "carrier_timeout"
        case temporarilyUnavailable = "temporarily_unavailable"
        case serverError = "server_error"

        init(_ code: SignInError.Code) { self = Outcome(rawValue: code.rawValue) ?? .serverError }

        init(_ outcome: SignInOutcome) {
            self =
                switch outcome {
                case .signedIn(let signedIn): signedIn.isNew ? .signedUp : .signedIn
                case .mustRegister: .mustRegister
                }
        }
    }
}
