/// An attribute of a user. The raw value is its name in the database, in the API, and as a claim (OpenID Connect Core
/// section 5.1).
public enum UserAttribute: String, Sendable, Hashable, CaseIterable {
    /// Chosen by the user; no provider tells it.
    case username
    case name
    case givenName = "given_name"
    case familyName = "family_name"
    case email
    case phoneNumber = "phone_number"
    case postalCode = "postal_code"

    /// The attributes that a provider can tell: all but ``username``.
    public static let claims = allCases.filter { $0 != .username }

    /// The attributes of which a provider can say that it verified them (`email_verified`).
    public static let verifiable: [UserAttribute] = [.email, .phoneNumber]

    /// The attribute's place in a table. Places are stored: they never change.
    @usableFromInline package var index: Int {
        switch self {
        case .username: 0
        case .name: 1
        case .givenName: 2
        case .familyName: 3
        case .email: 4
        case .phoneNumber: 5
        case .postalCode: 6
        }
    }

    /// In a form: the name that users see, and what the `input` has in HTML. The e-mail address has no `type="email"`:
    /// a browser's rules for addresses differ from this server's.
    package var field: (label: String, input: String) {
        switch self {
        case .username: ("Username", #"autocomplete="username" spellcheck="false""#)
        case .name: ("Name", #"autocomplete="name""#)
        case .givenName: ("Given name", #"autocomplete="given-name""#)
        case .familyName: ("Family name", #"autocomplete="family-name""#)
        case .email: ("Email", #"autocomplete="email" inputmode="email" spellcheck="false""#)
        case .phoneNumber: ("Phone number", #"autocomplete="tel" type="tel""#)
        case .postalCode: ("Postal code", #"autocomplete="postal-code" spellcheck="false""#)
        }
    }
}

/// A value for each of some attributes of a user.
///
/// The values are personal: printing shows which attributes there are, and no value. A copy costs one reference.
/// Inlinable, because unspecialized generic code would look up metadata for each access.
@frozen
public struct UserAttributes<Value: Sendable & Hashable>: Sendable, Hashable {
    /// By ``UserAttribute/index``; empty while there is no value.
    @usableFromInline var values: [Value?] = []

    @inlinable public init() {}

    /// The value of an attribute; nil if it has none.
    @inlinable public subscript(attribute: UserAttribute) -> Value? {
        get { values.isEmpty ? nil : values[attribute.index] }
        set {
            if values.isEmpty {
                guard newValue != nil else { return }
                values = UserAttribute.allCases.map { _ in nil }
            }
            values[attribute.index] = newValue
        }
    }

    /// The attributes that have a value, in their declared order.
    @inlinable public var present: [UserAttribute] { UserAttribute.allCases.filter { self[$0] != nil } }

    /// These values, and those of `other` for the attributes that have none here.
    @inlinable public func filled(with other: Self) -> Self {
        guard !values.isEmpty, !other.values.isEmpty else { return values.isEmpty ? other : self }
        var all = self
        for index in values.indices where values[index] == nil { all.values[index] = other.values[index] }
        return all
    }

    /// Two tables are equal if each attribute has the same value in both.
    @inlinable public static func == (one: Self, other: Self) -> Bool {
        UserAttribute.allCases.allSatisfy { one[$0] == other[$0] }
    }

    /// Hashes the values in their declared order.
    @inlinable public func hash(into hasher: inout Hasher) {
        for attribute in UserAttribute.allCases { hasher.combine(self[attribute]) }
    }
}

extension UserAttributes: ExpressibleByDictionaryLiteral {
    /// `[.name: "Jane Doe", .email: "jane@example.com"]`; the last value of an attribute counts.
    @inlinable public init(dictionaryLiteral elements: (UserAttribute, Value?)...) {
        for (attribute, value) in elements { self[attribute] = value }
    }
}

extension UserAttributes: Redacted {
    public var description: String { "UserAttributes(\(present.map(\.rawValue).joined(separator: ", ")))" }
}
