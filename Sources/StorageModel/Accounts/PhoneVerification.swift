package import Primitives

/// The outcome of asking a mobile operator whether a number belongs to a signed-in user's device.
package struct PhoneVerification: Sendable, Hashable {
    /// The raw value is also the API's and the database's.
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

/// A verification of a signed-in user's phone number that a browser was sent away for.
///
/// It ends when its session confirms it. What the browser brought back takes no effect before: any browser can be the
/// one that comes back, also another person's.
package struct PendingPhoneVerification: Sendable, Hashable {
    /// The SHA-256 of the id that the session's app has.
    package let id: TokenHash
    package let user: UserID
    /// The id of the session that asked. No other one can confirm it.
    package let session: String
    /// Nil if the operator shall tell the number.
    package let phoneNumber: String?
    /// The operator's name in the configuration.
    package let operatorName: String
    /// When it ends without a confirmation.
    package let expiresAt: Timestamp

    package init(
        id: TokenHash, user: UserID, session: String, phoneNumber: String?, operatorName: String, expiresAt: Timestamp
    ) {
        self.id = id
        self.user = user
        self.session = session
        self.phoneNumber = phoneNumber
        self.operatorName = operatorName
        self.expiresAt = expiresAt
    }

    /// How many wrong confirmations end a verification.
    package static let mostWrongConfirmations: Int64 = 3

    /// The outcome of this verification.
    package func ended(
        _ status: PhoneVerification.Status, phoneNumber: String?, simSwapped: Bool?, error: String? = nil,
        at time: Timestamp
    ) -> PhoneVerification {
        PhoneVerification(
            id: id, user: user, session: session, phoneNumber: phoneNumber, operatorName: operatorName,
            status: status, simSwapped: simSwapped, error: error, checkedAt: time)
    }

    /// This verification as one that has failed.
    package func failed(_ error: String, simSwapped: Bool? = nil, at time: Timestamp) -> PhoneVerification {
        ended(.failed, phoneNumber: phoneNumber, simSwapped: simSwapped, error: error, at: time)
    }
}

/// What a browser brought back, until the session confirms it.
package struct PhoneVerificationFinding: Sendable, Hashable {
    package let outcome: PhoneVerification
    /// The operator's issuer.
    package let issuer: String
    /// The SHA-256 of what the session has to present.
    package let confirmation: TokenHash
    /// When it can no longer be confirmed.
    package let expiresAt: Timestamp

    package init(outcome: PhoneVerification, issuer: String, confirmation: TokenHash, expiresAt: Timestamp) {
        self.outcome = outcome
        self.issuer = issuer
        self.confirmation = confirmation
        self.expiresAt = expiresAt
    }
}

/// What a session has: a verification that waits, or one that has ended.
package enum PhoneVerificationState: Sendable, Hashable {
    case pending(PendingPhoneVerification)
    case ended(PhoneVerification)
}

/// What a confirmation led to.
package enum PhoneVerificationConfirmation: Sendable, Hashable {
    /// The outcome is in effect. The users had the number as verified before.
    case confirmed(PhoneVerification, formerHolders: [UserID])
    /// The confirmation is another one.
    case wrong
    /// The verification has ended before.
    case ended
    /// The session has no such verification.
    case unknown
}
