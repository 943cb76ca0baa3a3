public import OpenIDConnect

/// What one sign-in came to, and how long it took. Tells of nobody: no user, code or token is in it.
public struct SignInReport: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign_in"
        case link
        case transaction
        case serverInitiated = "server_initiated"
    }

    /// What a sign-in has to do one after another. docs/logs.md tells of each.
    public enum Step: String, Sendable, CaseIterable {
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

    public let kind: Kind
    /// The name of the configured provider; nil if the request named none.
    public let provider: String?
    /// The carrier's network, where discovery knows it; nil for any other, and for providers that are no carriers.
    public let network: MCCMNC?
    public let outcome: Outcome
    /// The check of the ID token that failed, if that is why.
    public let check: IDTokenCheck?
    /// Whose fault a failure is.
    public let fault: SignInError.Fault?
    /// The steps in their order, each with its nanoseconds.
    public let steps: [(step: Step, nanoseconds: UInt64)]
    public let nanoseconds: UInt64
}

/// Is told of every sign-in as it ends; has to be quick.
public typealias SignInObserver = @Sendable (SignInReport) -> Void

extension SignInReport {
    /// How it ended: as the `error` of an answer has it, but that all codes of carriers' own are one.
    public enum Outcome: String, Sendable, CaseIterable {
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

        init(_ code: SignInError.Code) {
            self =
                switch code {
                case .invalidRequest: .invalidRequest
                case .invalidToken: .invalidToken
                case .insufficientUserAuthentication: .insufficientUserAuthentication
                case .invalidIDToken: .invalidIDToken
                case .refusedByCarrier: .refusedByCarrier
                case .invalidGrant: .invalidGrant
                case .emailDomainBlocked: .emailDomainBlocked
                case .userAlreadyExists: .userAlreadyExists
                case .lastIdentity: .lastIdentity
                case .notFound: .notFound
                case .grantMissing: .grantMissing
                case .grantRevoked: .grantRevoked
                case .expired: .expired
                case .rateLimited: .rateLimited
                case .carrierError: .carrierError
                case .carrierTimeout: .carrierTimeout
                case .temporarilyUnavailable: .temporarilyUnavailable
                case .serverError: .serverError
                }
        }

        init(_ outcome: SignInOutcome) {
            self =
                switch outcome {
                case .signedIn(let signedIn): signedIn.isNew ? .signedUp : .signedIn
                case .mustRegister: .mustRegister
                }
        }
    }
}
