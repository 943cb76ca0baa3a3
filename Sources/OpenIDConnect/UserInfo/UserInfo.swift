public import Primitives

/// A user's attributes from the userinfo endpoint, about the subject of the ID token it was asked with.
///
/// Each text is at most 255 bytes (the address 1024) and free of control characters; what is not is left out.
public struct UserInfo: Sendable, Hashable {
    public var attributes = UserAttributes<String>()
    public var emailVerified: Bool?
    public var phoneNumberVerified: Bool?
    public var birthdate: String?
    /// As one text, lines separated by commas.
    public var address: String?

    public init() {}
}

extension UserInfo: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "UserInfo(‹redacted›)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
