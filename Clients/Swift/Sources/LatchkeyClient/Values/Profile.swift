public import Foundation

/// A user's attributes, all optional.
public struct Profile: Sendable, Hashable {
    /// An attribute, with the server's name.
    public enum Field: String, Sendable, Hashable, CaseIterable {
        case username, name, email
        case givenName = "given_name"
        case familyName = "family_name"
        case phoneNumber = "phone_number"
        case postalCode = "postal_code"
    }

    /// The values by attribute.
    public var values: [Field: String]

    /// A profile with these values.
    public init(_ values: [Field: String] = [:]) { self.values = values }

    /// The value of an attribute.
    public subscript(field: Field) -> String? {
        get { values[field] }
        set { values[field] = newValue }
    }
}

extension Profile: CustomStringConvertible, CustomReflectable {
    /// The names of the attributes, without their values.
    public var description: String { "Profile(\(values.keys.map(\.rawValue).sorted().joined(separator: ", ")))" }
    /// Empty, so that `dump` shows no values.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// That a provider vouches for a user's e-mail address or phone number.
public struct Verification: Sendable, Hashable {
    /// When the provider first did.
    public let at: Date
    /// The provider's issuer.
    public let issuer: String
}

/// The signed-in user (`GET /users/me`).
public struct User: Sendable, Hashable {
    /// The account's number.
    public let id: Int64
    /// A stable random identifier of the account; not the carrier's subject.
    public let publicID: String
    /// The user's attributes.
    public let profile: Profile
    /// When the account was created.
    public let createdAt: Date
    /// Set if a provider vouches for the e-mail address; nil if it is unverified.
    public let emailVerification: Verification?
    /// Set if a provider vouches for the phone number; nil if it is unverified.
    public let phoneNumberVerification: Verification?
    /// What the user consented to share, if the client's scopes ask for it.
    public let consentedClaims: ConsentedClaims
}

extension User: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id = "user_id"
        case publicID = "zenkey_sub"
        case createdAt = "created_at"
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ field: Profile.Field, _ suffix: String = "") { stringValue = field.rawValue + suffix }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Decodes the server's JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(Int64.self, forKey: .id)
        publicID = try container.decode(String.self, forKey: .publicID)
        createdAt = Date(timeIntervalSince1970: try container.decode(Double.self, forKey: .createdAt))
        let names = try decoder.container(keyedBy: Name.self)
        var profile = Profile()
        for field in Profile.Field.allCases {
            profile[field] = try names.decodeIfPresent(String.self, forKey: Name(field))
        }
        self.profile = profile
        func verification(of field: Profile.Field) throws -> Verification? {
            guard try names.decodeIfPresent(Bool.self, forKey: Name(field, "_verified")) == true,
                let time = try names.decodeIfPresent(Double.self, forKey: Name(field, "_verified_at")),
                let issuer = try names.decodeIfPresent(String.self, forKey: Name(field, "_verified_by"))
            else { return nil }
            return Verification(at: Date(timeIntervalSince1970: time), issuer: issuer)
        }
        emailVerification = try verification(of: .email)
        phoneNumberVerification = try verification(of: .phoneNumber)
        consentedClaims = try ConsentedClaims(from: decoder)
    }
}

/// One of the user's sessions, on this device or another.
public struct UserSession: Sendable, Hashable, Decodable {
    /// The identifier for ``Latchkey/revokeSession(_:)``.
    public let id: String
    /// The `client_id` of the app.
    public let clientID: String
    /// The probable device, such as "Safari on iPhone".
    public let device: String?
    /// When the user signed in.
    public let createdAt: Date
    /// The last use, accurate to five minutes.
    public let lastSeenAt: Date
    /// When it expires unless it is used before.
    public let expiresAt: Date
    /// Whether it is the session of this client.
    public let isCurrent: Bool

    private enum CodingKeys: String, CodingKey {
        case id, device
        case clientID = "client_id"
        case createdAt = "created_at"
        case lastSeenAt = "last_seen_at"
        case expiresAt = "expires_at"
        case isCurrent = "current"
    }

    /// Decodes the server's JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func time(_ key: CodingKeys) throws -> Date {
            Date(timeIntervalSince1970: try container.decode(Double.self, forKey: key))
        }
        id = try container.decode(String.self, forKey: .id)
        clientID = try container.decode(String.self, forKey: .clientID)
        device = try container.decodeIfPresent(String.self, forKey: .device)
        createdAt = try time(.createdAt)
        lastSeenAt = try time(.lastSeenAt)
        expiresAt = try time(.expiresAt)
        isCurrent = try container.decode(Bool.self, forKey: .isCurrent)
    }
}
