package import Primitives

/// Who gave the values of a user's profile. Not known for values that a version before stored.
package struct AttributeOrigins: Sendable, Hashable {
    package enum Origin: Sendable, Hashable {
        /// A provider: a later value of the provider replaces it.
        case provider
        /// The user: it stays until the user clears it.
        case user
    }

    /// As it is stored: a bit for each attribute that a provider gave, and in the second byte for each of the user.
    package private(set) var bits: Int64
    /// The provider whose changes the profile follows.
    package var issuer: String?

    package init(bits: Int64 = 0, issuer: String? = nil) {
        self.bits = bits
        self.issuer = issuer
    }

    package var isEmpty: Bool { bits == 0 && issuer == nil }

    /// Nil if it is not known, or the attribute has no value.
    package subscript(attribute: UserAttribute) -> Origin? {
        get {
            let bit = Self.bit(of: attribute)
            if bits & bit != 0 { return .provider }
            return bits & bit << 8 != 0 ? .user : nil
        }
        set {
            let bit = Self.bit(of: attribute)
            bits &= ~(bit | bit << 8)
            switch newValue {
            case .provider: bits |= bit
            case .user: bits |= bit << 8
            case nil: break
            }
        }
    }

    // The numbers are stored: they never change.
    private static func bit(of attribute: UserAttribute) -> Int64 {
        switch attribute {
        case .username: 1
        case .name: 2
        case .givenName: 4
        case .familyName: 8
        case .email: 16
        case .phoneNumber: 32
        case .postalCode: 64
        }
    }
}
