import StorageModel

/// How a verification of a phone number went. It names no user and no number.
package struct PhoneVerificationReport: Sendable, Hashable {
    package enum Outcome: Sendable, Hashable, CaseIterable {
        case verified, mismatch
        /// The session has shown that its own browser brought the finding.
        case confirmed
        /// With this error; one value for all codes of the operators' own.
        case refused(SignInError.Code)

        package static let allCases: [Outcome] =
            [.verified, .mismatch, .confirmed] + SignInError.Code.allCases.map(Outcome.refused)

        /// The name in logs and metrics.
        package var name: String {
            switch self {
            case .verified: "verified"
            case .mismatch: "mismatch"
            case .confirmed: "confirmed"
            case .refused(let code): code.rawValue
            }
        }
    }

    /// The operator's name in the configuration; nil if the request did not come to an operator.
    package let operatorName: String?
    package let outcome: Outcome
}

extension PhoneVerificationReport {
    init(_ verification: PhoneVerification) {
        let outcome: Outcome =
            switch verification.status {
            case .verified: .verified
            case .mismatch: .mismatch
            case .failed: .refused(verification.error.flatMap(SignInError.Code.init) ?? .refusedByCarrier)
            }
        self.init(operatorName: verification.operatorName, outcome: outcome)
    }
}

/// Called for every outcome of a verification: of the operator's answer, and of a confirmation. It must return quickly.
package typealias PhoneVerificationObserver = @Sendable (PhoneVerificationReport) -> Void
