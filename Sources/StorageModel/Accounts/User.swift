public import Primitives

/// A user's number: positive and below 2^53, so that every JSON reader holds it exactly.
public struct UserID: Sendable, Hashable {
    public let number: Int64

    public init(_ number: Int64) {
        self.number = number
    }
}

/// The attributes of a user, as the user or the carrier told them.
public typealias Profile = UserAttributes<String>

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

/// A change of one attribute.
public enum AttributeChange: Sendable, Hashable {
    case set(String)
    case clear
}

/// The attributes of a profile to change; the others keep their values.
public typealias ProfileChange = UserAttributes<AttributeChange>

extension UserAttributes<AttributeChange> {
    package func applied(to profile: Profile) -> Profile {
        var changed = profile
        for attribute in present {
            if case .set(let value) = self[attribute] { changed[attribute] = value } else { changed[attribute] = nil }
        }
        return changed
    }
}
