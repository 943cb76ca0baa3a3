public import Primitives

/// A user's number: positive and below 2^53, so that every JSON reader holds it exactly.
public struct UserID: Sendable, Hashable {
    /// The number in the database.
    public let number: Int64

    package init(_ number: Int64) { self.number = number }
}

/// The attributes of a user, from the user or the provider.
public typealias Profile = UserAttributes<String>

/// A stored user.
public struct User: Sendable, Hashable {
    /// In this database.
    public let id: UserID
    /// A random and stable identifier that is safe to publish.
    public let publicID: String
    /// The attributes that are known.
    public package(set) var profile: Profile
    /// What providers vouch for of ``profile``; nil if nothing.
    package var assertions: ProviderAssertions?
    package let createdAt: Timestamp

    package init(
        id: UserID, publicID: String, profile: Profile, assertions: ProviderAssertions? = nil, createdAt: Timestamp
    ) {
        self.id = id
        self.publicID = publicID
        self.profile = profile
        self.assertions = assertions
        self.createdAt = createdAt
    }
}

/// A change of one attribute.
package enum AttributeChange: Sendable, Hashable {
    case set(String)
    case clear
}

/// The attributes of a profile to change; the others keep their values.
package typealias ProfileChange = UserAttributes<AttributeChange>
