public import Primitives

/// A claim beyond the profile's attributes, which a user may consent to share. The raw value is its name, and that of
/// the scope that asks for it (the guides' section 6.3.1).
public enum ConsentedClaim: String, Sendable, Hashable, CaseIterable {
    case address, birthdate
    /// The last four digits of the US social security number.
    case last4Social = "last_4_social"
    case isAdult = "is_adult"
    case isAdult18 = "is_adult_18"
    case isAdult21 = "is_adult_21"
    case isOver13 = "is_over_13"
    case proofing

    /// Whether the store has it encrypted or not at all.
    public var isSensitive: Bool {
        switch self {
        case .address, .birthdate, .last4Social, .proofing: true
        case .isAdult, .isAdult18, .isAdult21, .isOver13: false
        }
    }
}

/// The values of some ``ConsentedClaim``s. It prints and reflects as `‹redacted›`.
public struct ConsentedClaims: Sendable, Hashable, Redacted {
    public enum Value: Sendable, Hashable {
        /// At most 255 bytes without control characters.
        case text(String)
        /// An answer such as `is_adult_18`'s.
        case flag(Bool)
        /// The members of an address, at least one (OpenID Connect Core section 5.1.1).
        case address([AddressMember: String])
    }

    /// A member of an address. `formatted` is at most 1024 bytes, with commas between its lines; the others are at most
    /// 255 bytes.
    public enum AddressMember: String, Sendable, Hashable, CaseIterable {
        case formatted
        case streetAddress = "street_address"
        case locality, region
        case postalCode = "postal_code"
        case country
    }

    private var values: [ConsentedClaim: Value] = [:]

    public init() {}

    public subscript(claim: ConsentedClaim) -> Value? {
        get { values[claim] }
        set { values[claim] = newValue }
    }

    public var isEmpty: Bool { values.isEmpty }

    /// The claims with a value, in their declared order.
    public var present: [ConsentedClaim] { ConsentedClaim.allCases.filter { values[$0] != nil } }

    package func filtered(_ isIncluded: (ConsentedClaim) -> Bool) -> ConsentedClaims {
        altered(self) { $0.values = $0.values.filter { isIncluded($0.key) } }
    }

    package func requested(by scopes: [String]) -> ConsentedClaims {
        isEmpty ? self : filtered { scopes.contains($0.rawValue) }
    }

    /// These claims, and those of `other` that have no value here.
    package func filled(with other: ConsentedClaims) -> ConsentedClaims {
        altered(self) { $0.values.merge(other.values) { own, _ in own } }
    }

    /// Adds each claim as a member of JSON, which the store and the API have.
    package func write(to json: inout JSONObjectWriter) {
        for claim in present {
            if let value = values[claim] { json.add(named: claim.rawValue, json: value.json) }
        }
    }

    /// Reads what ``write(to:)`` wrote; leaves out what it did not write.
    package init(_ object: JSONObject) {
        for claim in ConsentedClaim.allCases { values[claim] = object[claim.rawValue].flatMap(Value.init) }
    }
}

extension ConsentedClaims.Value {
    /// A JSON text, flag or object.
    package var json: String {
        let value: JSONValue =
            switch self {
            case .text(let text): .string(text)
            case .flag(let flag): .bool(flag)
            case .address(let members):
                .object(
                    of: ConsentedClaims.AddressMember.allCases.map { ($0.rawValue, members[$0].map { .string($0) }) })
            }
        return value.text
    }

    fileprivate init?(_ value: JSONValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .bool(let flag): self = .flag(flag)
        case .object(let object):
            let members = ConsentedClaims.AddressMember.allCases.compactMap { member in
                object[member.rawValue]?.string.map { (member, $0) }
            }
            self = .address(Dictionary(members) { first, _ in first })
        case .null, .integer, .number, .array: return nil
        }
    }
}
