package import Primitives

/// The outcome of asking a mobile operator whether a number is that of a signed-in user's device.
package struct PhoneVerification: Sendable, Hashable {
    /// The raw value is that of the API and of the database.
    package enum Status: String, Sendable, Hashable, CaseIterable {
        /// It is.
        case verified
        /// The device has another number.
        case mismatch
        /// The operator did not tell, or its answer is not believed.
        case failed
    }

    /// The SHA-256 of the id that the session's app has.
    package let id: TokenHash
    package let user: UserID
    /// The id of the session that asked. No other one gets the outcome.
    package let session: String
    /// Nil if the operator was to tell the number, and did not.
    package let phoneNumber: String?
    /// The operator's name in the configuration.
    package let operatorName: String
    package let status: Status
    /// Whether the SIM was changed; nil if that is not known.
    package let simSwapped: Bool?
    /// The code of a failure.
    package let error: String?
    package let checkedAt: Timestamp

    package init(
        id: TokenHash, user: UserID, session: String, phoneNumber: String?, operatorName: String, status: Status,
        simSwapped: Bool?, error: String?, checkedAt: Timestamp
    ) {
        self.id = id
        self.user = user
        self.session = session
        self.phoneNumber = phoneNumber
        self.operatorName = operatorName
        self.status = status
        self.simSwapped = simSwapped
        self.error = error
        self.checkedAt = checkedAt
    }

    /// How long the outcome can be read, in seconds.
    package static let retention: Int64 = 86_400
}

extension AuditEvent.Kind {
    /// A mobile operator confirmed the number of a signed-in user.
    package static let phoneNumberVerified = AuditEvent.Kind("phone_number.verified")
}
