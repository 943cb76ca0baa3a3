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
            let bit: Int64 = 1 << attribute.index
            if bits & bit != 0 { return .provider }
            return bits & bit << 8 != 0 ? .user : nil
        }
        set {
            let bit: Int64 = 1 << attribute.index
            bits &= ~(bit | bit << 8)
            switch newValue {
            case .provider: bits |= bit
            case .user: bits |= bit << 8
            case nil: break
            }
        }
    }
}
