public import Primitives

/// A user's number: positive and below 2^53, so that every JSON reader holds it exactly.
public struct UserID: Sendable, Hashable {
    public let number: Int64

    public init(_ number: Int64) {
        self.number = number
    }
}

/// What a user or their carrier has told of them.
public struct Profile: Sendable, Hashable {
    public var username: String?
    public var name: String?
    public var givenName: String?
    public var familyName: String?
    public var email: String?
    public var phoneNumber: String?
    public var postalCode: String?

    public init(
        username: String? = nil, name: String? = nil, givenName: String? = nil, familyName: String? = nil,
        email: String? = nil, phoneNumber: String? = nil, postalCode: String? = nil
    ) {
        self.username = username
        self.name = name
        self.givenName = givenName
        self.familyName = familyName
        self.email = email
        self.phoneNumber = phoneNumber
        self.postalCode = postalCode
    }
}

/// A user on record.
public struct User: Sendable, Hashable {
    public let id: UserID
    /// Random and stable, safe to show: stands for the user where an identifier other than the number is wanted.
    public let publicID: String
    public var profile: Profile
    public let createdAt: Timestamp

    public init(id: UserID, publicID: String, profile: Profile, createdAt: Timestamp) {
        self.id = id
        self.publicID = publicID
        self.profile = profile
        self.createdAt = createdAt
    }
}

/// What is to become of one attribute of a profile.
public enum AttributeChange: Sendable, Hashable {
    case keep
    case set(String)
    case clear

    package func applied(to value: String?) -> String? {
        switch self {
        case .keep: value
        case .set(let value): value
        case .clear: nil
        }
    }
}

/// What is to become of a profile.
public struct ProfileChange: Sendable, Hashable {
    public var username = AttributeChange.keep
    public var name = AttributeChange.keep
    public var givenName = AttributeChange.keep
    public var familyName = AttributeChange.keep
    public var email = AttributeChange.keep
    public var phoneNumber = AttributeChange.keep
    public var postalCode = AttributeChange.keep

    public init() {}

    package func applied(to profile: Profile) -> Profile {
        Profile(
            username: username.applied(to: profile.username), name: name.applied(to: profile.name),
            givenName: givenName.applied(to: profile.givenName),
            familyName: familyName.applied(to: profile.familyName), email: email.applied(to: profile.email),
            phoneNumber: phoneNumber.applied(to: profile.phoneNumber),
            postalCode: postalCode.applied(to: profile.postalCode))
    }
}
