package import OpenIDConnect

/// The outcome and the duration of one sign-in. It names no user, code or token.
package struct SignInReport: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign_in"
        case link
        case transaction
        case backchannelAuthentication = "server_initiated"
    }

    /// The steps of a sign-in, described in docs/observability.md.
    package enum Step: String, Sendable, CaseIterable {
        case recall
        case discovery
        case pushedAuthorization = "par"
        case attempt
        case request
        case token
        case keys
        case validate
        case userinfo
        case number
        case telcoFinder = "finder"
        case simSwap = "sim"
        case migrate
        case store
    }

    /// The duration of a step.
    package struct StepTime: Sendable, Hashable {
        package let step: Step
        /// The nanoseconds that the step took in all, without those of steps that interrupted it.
        package var nanoseconds: UInt64
        /// When the step first began and when it last ended, in nanoseconds since the sign-in began.
        package let start: UInt64
        package var end: UInt64
    }

    package let kind: Kind
    /// Names the sign-in in logs. An app may have chosen it. Nil if the stored one cannot be read.
    package let correlationID: CorrelationID?
    /// The name of the configured provider; nil if the request named none.
    package let provider: String?
    /// The carrier's network; nil if discovery does not know it, and for providers that are no carriers.
    package let network: MCCMNC?
    package let outcome: Outcome
    /// The check of the ID token that failed, if one did.
    package let check: IDTokenCheck?
    /// The step that failed; nil after a success, and if the request was refused before the first step.
    package let failedStep: Step?
    /// Who caused a failure; nil after a success.
    package let fault: SignInError.Fault?
    /// What was wrong, as the log says it; nil after a success.
    package let cause: String?
    /// The steps in order.
    package let steps: [StepTime]
    /// The duration of the whole sign-in.
    package let nanoseconds: UInt64
}

/// Called at the end of every sign-in. It must return quickly.
package typealias SignInObserver = @Sendable (SignInReport) -> Void

extension SignInReport {
    /// How a sign-in ended.
    package enum Outcome: Sendable, Hashable, CaseIterable {
        case signedIn, signedUp, mustRegister, linked, wasLinked, authorized
        /// By the user, or the provider for them: `access_denied`, and the carriers' own `request_denied`.
        case denied
        /// With this error; one value for all codes of the carriers' own.
        case refused(SignInError.Code)

        package static let allCases: [Outcome] =
            [.signedIn, .signedUp, .mustRegister, .linked, .wasLinked, .authorized, .denied]
            + SignInError.Code.allCases.map(Outcome.refused)

        /// The name in logs and metrics.
        package var name: String {
            switch self {
            case .signedIn: "signed_in"
            case .signedUp: "signed_up"
            case .mustRegister: "must_register"
            case .linked: "linked"
            case .wasLinked: "was_linked"
            case .authorized: "authorized"
            case .denied: "denied"
            case .refused(let code): code.rawValue
            }
        }

        init(_ error: SignInError) {
            self = ["access_denied", "request_denied"].contains(error.codeText) ? .denied : .refused(error.code)
        }

        init(_ outcome: SignInOutcome) {
            self =
                switch outcome {
                case .signedIn(let signedIn): signedIn.isNew && !signedIn.isRepeated ? .signedUp : .signedIn
                case .mustRegister: .mustRegister
                }
        }
    }
}
