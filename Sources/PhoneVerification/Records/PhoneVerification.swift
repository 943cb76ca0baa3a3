import Primitives
import StorageModel

/// The outcome of asking a mobile operator whether a number belongs to a signed-in user's device.
struct PhoneVerification: Sendable, Hashable {
    /// The raw value is also the API's and the database's.
    enum Status: String, Sendable, Hashable, CaseIterable {
        /// It is.
        case verified
        /// The device has another number.
        case mismatch
        /// The operator did not tell, or its answer is not believed.
        case failed
    }

    /// The SHA-256 of the id that the session's app has.
    let id: TokenHash
    let user: UserID
    /// The id of the session that asked. No other one gets the outcome.
    let session: String
    /// Nil if the operator was to tell the number, and did not.
    let phoneNumber: String?
    /// The operator's name in the configuration.
    let operatorName: String
    let status: Status
    /// Whether the SIM was changed; nil if that is not known.
    let simSwapped: Bool?
    /// The code of a failure.
    let error: String?
    let checkedAt: Timestamp

    /// How long the outcome can be read, in seconds.
    static let retention: Int64 = 86_400
}

extension AuditEvent.Kind {
    /// A mobile operator confirmed the number of a signed-in user.
    static let phoneNumberVerified = AuditEvent.Kind("phone_number.verified")
}

/// A verification of a signed-in user's phone number that a browser was sent away for.
///
/// It ends when its session confirms it. What the browser brought back takes no effect before: any browser can be the
/// one that comes back, also another person's.
struct PendingPhoneVerification: Sendable, Hashable {
    /// The SHA-256 of the id that the session's app has.
    let id: TokenHash
    let user: UserID
    /// The id of the session that asked. No other one can confirm it.
    let session: String
    /// Nil if the operator shall tell the number.
    let phoneNumber: String?
    /// The operator's name in the configuration.
    let operatorName: String
    /// When it ends without a confirmation.
    let expiresAt: Timestamp

    /// How many wrong confirmations end a verification.
    static let mostWrongConfirmations: Int64 = 3
    /// How long an app has to present its confirmation, in seconds.
    static let confirmationTime: Int64 = 120

    func ended(
        _ status: PhoneVerification.Status, phoneNumber: String?, simSwapped: Bool?, error: String? = nil,
        at time: Timestamp
    ) -> PhoneVerification {
        PhoneVerification(
            id: id, user: user, session: session, phoneNumber: phoneNumber, operatorName: operatorName,
            status: status, simSwapped: simSwapped, error: error, checkedAt: time)
    }

    func failed(_ error: String, simSwapped: Bool? = nil, at time: Timestamp) -> PhoneVerification {
        ended(.failed, phoneNumber: phoneNumber, simSwapped: simSwapped, error: error, at: time)
    }
}

/// What a session has: a verification that waits, or one that has ended.
enum PhoneVerificationState: Sendable, Hashable {
    case pending(PendingPhoneVerification)
    case ended(PhoneVerification)
}
