public import Foundation

/// The start of a registration, for servers that require it of new users.
public struct RegistrationOffer: Sendable, Hashable {
    let stateKey: Hidden
    /// The code verifier of a sign-in by redirects, which the state key requires.
    var codeVerifier: Hidden?
    /// The attributes that the carrier has provided.
    public let attributes: Profile
    /// The required attributes that the carrier has not provided, with the server's names.
    public let missing: [String]
    /// When the offer expires, by the clock of this device; nil if unknown.
    public let expiresAt: Date?

    /// A registration with the carrier's attributes. Add the missing ones and pass it to ``Latchkey/register(_:)``.
    public func registration() -> Registration {
        Registration(stateKey: stateKey, codeVerifier: codeVerifier, profile: attributes)
    }
}

/// A registration of a new user.
public struct Registration: Sendable, Hashable {
    let stateKey: Hidden
    let codeVerifier: Hidden?
    /// The user's attributes.
    public var profile: Profile

    var fields: [String: String?] {
        var fields: [String: String] = ["state_key": stateKey.rawValue]
        fields["code_verifier"] = codeVerifier?.rawValue
        for (field, value) in profile.values { fields[field.rawValue] = value }
        return fields
    }
}
