public import Primitives

/// A user's attributes (OpenID Connect Core section 5.1).
///
/// Each text is at most 255 bytes (the address 1024) without control characters; other values are left out. It prints
/// and reflects as `‹redacted›`.
public struct UserInfo: Sendable, Hashable {
    /// The attributes that a user's profile has, too.
    public var attributes = UserAttributes<String>()
    /// Whether the provider verified the e-mail address, if it says so.
    public var emailVerified: Bool?
    /// Whether the provider verified the phone number, if it says so.
    public var phoneNumberVerified: Bool?
    /// The date of birth, as the provider writes it.
    public var birthdate: String?
    /// The address as one text, with commas between its lines.
    public var address: String?

    /// No attributes.
    public init() {}
}

extension UserInfo: Redacted {}
