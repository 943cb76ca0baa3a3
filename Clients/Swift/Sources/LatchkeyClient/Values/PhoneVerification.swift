public import Foundation

/// The outcome of a verification of the user's phone number.
public struct PhoneVerification: Sendable, Hashable {
    /// What the operator said.
    public enum Status: String, Sendable, Hashable, Decodable {
        /// The verification is by redirects, and was not confirmed yet.
        case pending
        /// The device has the number, which is verified now.
        case verified
        /// The device has another number. The account is unchanged.
        case mismatch
        /// The operator did not tell; see ``PhoneVerification/error``. The account is unchanged.
        case failed
    }

    /// The identifier for ``Latchkey/phoneVerification(_:)``.
    public let id: String
    /// What the operator said.
    public let status: Status
    /// The number that was asked for; nil if the operator was to tell it, and has not.
    public let phoneNumber: String?
    /// The operator that was asked.
    public let operatorName: String
    /// When it was asked; nil while the verification is ``Status/pending``.
    public let checkedAt: Date?
    /// Whether the SIM was changed lately; nil if that is not known.
    public let simSwapped: Bool?
    /// Why the verification failed.
    public let error: LatchkeyError.Code?
}

extension PhoneVerification: Decodable {
    private enum CodingKeys: String, CodingKey {
        case status, error
        case id = "verification_id"
        case phoneNumber = "phone_number"
        case operatorName = "operator"
        case checkedAt = "checked_at"
        case simSwapped = "sim_swapped"
    }

    /// Decodes the server's JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        status = try container.decode(Status.self, forKey: .status)
        phoneNumber = try container.decodeIfPresent(String.self, forKey: .phoneNumber)
        operatorName = try container.decode(String.self, forKey: .operatorName)
        checkedAt = try container.decodeIfPresent(Double.self, forKey: .checkedAt)
            .map(Date.init(timeIntervalSince1970:))
        simSwapped = try container.decodeIfPresent(Bool.self, forKey: .simSwapped)
        error = try container.decodeIfPresent(String.self, forKey: .error).map { LatchkeyError.Code(rawValue: $0) }
    }
}

extension PhoneVerification: CustomStringConvertible, CustomReflectable {
    /// Without the number.
    public var description: String { "PhoneVerification(\(status.rawValue), \(operatorName))" }
    /// Empty, so that `dump` does not show the number.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
