package import Crypto
package import OpenIDConnect
import Primitives
package import StorageModel

/// The user that a provider other than a carrier is asked to authenticate (CIBA Core section 7.1): one of three hints,
/// which are sent as they are.
package struct UserHint: Sendable, Hashable {
    package let hint: BackchannelAuthenticationRequest.Hint
    /// By which the user is counted: one text for all spellings of a hint that a provider could take for the same user.
    private let user: String

    /// A text that the provider knows the user by, of 1 to 255 bytes; nil for one with spaces around it or with control
    /// characters.
    package init?(loginHint text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.first != 0x20, text.utf8.last != 0x20,
            text.unicodeScalars.allSatisfy({ !Self.isControl($0) })
        else { return nil }
        hint = .loginHint(Secret(text))
        user = Self.phoneNumber(text).map { "tel:" + $0 } ?? "hint:" + text.lowercased()
    }

    /// A token in a form of the provider's own; nil if it is not visible ASCII.
    package init?(loginHintToken text: String) {
        guard Self.isVisible(text) else { return nil }
        hint = .loginHintToken(Secret(text))
        user = "token:" + text
    }

    /// An ID token of the provider. It counts for its subject, so that a new one is no new user; nil for a text that is
    /// no JWT with a `sub`. The provider verifies it.
    package init?(idTokenHint text: String) {
        let parts = text.split(ascii: ".", omittingEmptySubsequences: false)
        guard Self.isVisible(text), parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
            let subject = (try? JSONValue(parsing: payload))?.object?["sub"]?.string
        else { return nil }
        hint = .idTokenHint(Secret(text))
        user = "sub:" + subject
    }

    /// The hash under which the user is counted.
    package func hash(with key: SymmetricKey, at issuer: String) -> TokenHash {
        TokenHash(hmacOf: "\(issuer)\n\(user)", key: key)
    }

    /// The digits of a text that reads as a phone number.
    private static func phoneNumber(_ text: String) -> String? {
        let lower = text.lowercased()
        let number = lower.hasPrefix("tel:") ? lower.dropFirst(4).prefix { $0 != ";" } : lower[...]
        guard number.utf8.allSatisfy({ isDigit($0) || "+-.() ".utf8.contains($0) }) else { return nil }
        let digits = number.utf8.filter(isDigit)
        return digits.count >= 7 ? String(decoding: digits, as: UTF8.self) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    private static func isControl(_ character: Unicode.Scalar) -> Bool {
        switch character.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}
