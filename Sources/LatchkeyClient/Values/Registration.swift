public import Foundation

/// What a registration starts with, where the server wants unknown users to register.
public struct RegistrationOffer: Sendable, Hashable {
    let stateKey: Hidden
    /// That of a sign-in by redirects, without which the state key is worth nothing.
    var codeVerifier: Hidden?
    /// What the carrier has told of the user.
    public let attributes: Profile
    /// What a registration must have and the carrier did not tell, by the server's names.
    public let missing: [String]
    /// When the offer ends, by the clock of this device; nil if the server did not say.
    public let expiresAt: Date?

    /// A registration with what the carrier has told; fill in the rest and give it to ``Latchkey/register(_:)``.
    public func registration() -> Registration {
        Registration(stateKey: stateKey, codeVerifier: codeVerifier, profile: attributes)
    }
}

/// A user's answers to a registration form.
public struct Registration: Sendable, Hashable {
    let stateKey: Hidden
    let codeVerifier: Hidden?
    public var profile: Profile

    var fields: [String: String?] {
        var fields: [String: String] = ["state_key": stateKey.text]
        fields["code_verifier"] = codeVerifier?.text
        for (field, value) in profile.values { fields[field.rawValue] = value }
        return fields
    }
}
