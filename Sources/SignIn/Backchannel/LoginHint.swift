package import Crypto
package import OpenIDConnect
package import Primitives
package import StorageModel

/// The user that a backchannel authentication is for (CIBA Core section 7.1, `login_hint`).
///
/// There is one text for each user, and only it is counted, stored and sent. A hint with anything around a phone number
/// would be another user for the limits, while a carrier may read it as the number.
package enum LoginHint: Sendable, Hashable {
    case phoneNumber(PhoneNumber)
    /// The carrier's subject for the user: `mccmnc-` and an opaque text.
    case subject(Secret)

    /// What ``init(_:at:)`` expects, for an error.
    package static let demand =
        "must be a phone number with + and its country code, such as +12025550123 or tel:+12025550123 (in the United "
        + "States and Canada also without), or the carrier's subject of the user, such as 310410-AbCd"

    /// Reads a hint; nil for a text that is neither a phone number nor a subject.
    /// - Parameter network: The network whose carrier is asked.
    package init?(_ text: String, at network: MCCMNC) {
        if let number = PhoneNumber(text, at: network) {
            self = .phoneNumber(number)
        } else if Self.isSubject(text) {
            self = .subject(Secret(text))
        } else {
            return nil
        }
    }

    /// The text that the carrier gets.
    package var text: Secret {
        switch self {
        case .phoneNumber(let number): Secret(number.text)
        case .subject(let subject): subject
        }
    }

    /// The hash under which the user is counted. Phone numbers are few enough to hash them all, so it needs a key.
    /// - Parameter issuer: The carrier, whose subjects differ from another one's.
    package func hash(with key: SymmetricKey, at issuer: String) -> TokenHash {
        switch self {
        case .phoneNumber(let number): TokenHash(hmacOf: "tel:\(number.text)", key: key)
        case .subject(let subject): TokenHash(hmacOf: "sub:\(issuer)\n\(subject.exposed)", key: key)
        }
    }

    /// The form of ZenKey's carriers: five or six digits, a hyphen, and an opaque text. That one needs a letter, so
    /// that no spelling of a number is a subject.
    private static func isSubject(_ text: String) -> Bool {
        guard let hyphen = text.firstIndex(of: "-"), MCCMNC(String(text[..<hyphen])) != nil else { return false }
        let rest = text[hyphen...].dropFirst()
        return rest.utf8.contains(where: isLetter)
            && rest.utf8.allSatisfy { isLetter($0) || "0123456789-_.+/=".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
