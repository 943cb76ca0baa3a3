public import Foundation

/// What is known of a person, all of it optional.
public struct Profile: Sendable, Hashable {
    public enum Field: String, Sendable, Hashable, CaseIterable {
        case username, name, email
        case givenName = "given_name"
        case familyName = "family_name"
        case phoneNumber = "phone_number"
        case postalCode = "postal_code"
    }

    public var values: [Field: String]

    public init(_ values: [Field: String] = [:]) {
        self.values = values
    }

    public subscript(field: Field) -> String? {
        get { values[field] }
        set { values[field] = newValue }
    }
}

extension Profile: CustomStringConvertible, CustomReflectable {
    /// Which fields there are, not what they say.
    public var description: String { "Profile(\(values.keys.map(\.rawValue).sorted().joined(separator: ", ")))" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The signed-in user, as `GET /users/me` shows them.
public struct User: Sendable, Hashable {
    /// The account's number.
    public let id: Int64
    /// A stable random text that stands for the account; not the carrier's subject.
    public let publicID: String
    public let profile: Profile
    public let createdAt: Date
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

        init(_ field: Profile.Field) { stringValue = field.rawValue }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

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
    }
}

/// One of the user's sessions, on this device or another.
public struct UserSession: Sendable, Hashable, Decodable {
    public let id: String
    public let clientID: String
    /// A guess such as "Safari on iPhone".
    public let device: String?
    public let createdAt: Date
    /// To five minutes.
    public let lastSeenAt: Date
    /// When it ends unless it is used before.
    public let expiresAt: Date
    /// Whether it is the one that asks.
    public let isCurrent: Bool

    private enum CodingKeys: String, CodingKey {
        case id, device
        case clientID = "client_id"
        case createdAt = "created_at"
        case lastSeenAt = "last_seen_at"
        case expiresAt = "expires_at"
        case isCurrent = "current"
    }

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
