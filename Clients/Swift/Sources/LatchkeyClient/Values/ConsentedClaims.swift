/// What a user consented to share with the service, beyond the profile; nil where the carrier did not send it.
public struct ConsentedClaims: Sendable, Hashable, Decodable {
    /// An address (OpenID Connect Core section 5.1.1).
    public struct Address: Sendable, Hashable, Decodable {
        /// The whole address, with commas between its lines.
        public let formatted: String?
        /// The street and the number.
        public let streetAddress: String?
        /// The city.
        public let locality: String?
        /// The state or province.
        public let region: String?
        /// The postal code.
        public let postalCode: String?
        /// The country.
        public let country: String?

        private enum CodingKeys: String, CodingKey {
            case formatted, locality, region, country
            case streetAddress = "street_address"
            case postalCode = "postal_code"
        }
    }

    /// An answer to the scope `proofing`: some providers say yes or no, others name how the user was proofed.
    public enum Proofing: Sendable, Hashable, Decodable {
        /// Yes or no.
        case flag(Bool)
        /// In the provider's words.
        case text(String)

        /// Decodes the server's JSON.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    /// The address.
    public let address: Address?
    /// The date of birth, as the carrier writes it.
    public let birthdate: String?
    /// The last four digits of the US social security number.
    public let last4Social: String?
    /// Whether the user is an adult.
    public let isAdult: Bool?
    /// Whether the user is 18 or older.
    public let isAdult18: Bool?
    /// Whether the user is 21 or older.
    public let isAdult21: Bool?
    /// Whether the user is 13 or older.
    public let isOver13: Bool?
    /// The answer to the scope `proofing`.
    public let proofing: Proofing?
    /// The issuer of the provider that sent them; nil if there are none.
    public let issuer: String?

    private enum CodingKeys: String, CodingKey {
        case address, birthdate, proofing
        case last4Social = "last_4_social"
        case isAdult = "is_adult"
        case isAdult18 = "is_adult_18"
        case isAdult21 = "is_adult_21"
        case isOver13 = "is_over_13"
        case issuer = "claims_by"
    }
}

extension ConsentedClaims: CustomStringConvertible, CustomReflectable {
    /// Without values.
    public var description: String { "ConsentedClaims" }
    /// Empty, so that `dump` shows no values.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
