import Crypto
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The user that a backchannel authentication is for (CIBA Core section 7.1, `login_hint`).
///
/// There is one text for each user, and only it is counted, stored and sent. A hint with anything around a phone number
/// would be another user for the limits, while a carrier may read it as the number.
enum LoginHint: Sendable, Hashable {
    case phoneNumber(PhoneNumber)
    /// The carrier's subject for the user: `mccmnc-` and an opaque text.
    case subject(Secret)

    /// What ``init(_:at:)`` expects, for an error.
    static let demand =
        "must be a phone number with + and its country code, such as +12025550123 or tel:+12025550123 (in the United "
        + "States and Canada also without), or the carrier's subject of the user, such as 310410-AbCd"

    /// Reads a hint; nil for a text that is neither a phone number nor a subject.
    init?(_ text: String, at network: MCCMNC) {
        if let number = PhoneNumber(text, at: network) {
            self = .phoneNumber(number)
        } else if Self.isSubject(text) {
            self = .subject(Secret(text))
        } else {
            return nil
        }
    }

    /// The text that the carrier gets.
    var text: Secret {
        switch self {
        case .phoneNumber(let number): Secret(number.text)
        case .subject(let subject): subject
        }
    }

    /// The hash under which the user is counted. Phone numbers are few enough to hash them all, so it needs a key.
    /// - Parameter issuer: The carrier, whose subjects differ from another one's.
    func hash(with key: SymmetricKey, at issuer: String) -> TokenHash {
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
        return rest.utf8.contains(where: \.isASCIILetter)
            && rest.utf8.allSatisfy { $0.isASCIILetter || "0123456789-_.+/=".utf8.contains($0) }
    }
}

/// A phone number in international form (ITU-T E.164): `+`, the country code, and the national number.
///
/// Every number has one text, so that what is counted for its user is what the carrier gets. Texts that a lenient
/// reader could take for the same number, such as those with a trunk prefix after the country code, are refused.
struct PhoneNumber: Sendable, Hashable, Redacted {
    /// `+` and 7 to 15 digits.
    let text: String

    /// Reads `+` and the digits, or a URI of RFC 3966 (`tel:`). The signs `-`, `.`, `(` and `)` between digits are left
    /// out, and so are the URI's parameters: they do not lead to another phone. Nil for everything else.
    ///
    /// - Parameter network: At a network of the United States or Canada, a number without its country code is read,
    ///   too. Elsewhere the national form is not unique, and refused.
    init?(_ text: String, at network: MCCMNC) {
        guard let digits = Self.internationalDigits(text) ?? Self.nationalDigits(text, at: network),
            Self.isInternational(digits)
        else { return nil }
        self.text = "+" + digits
    }

    /// The digits after `+`; nil also for a malformed URI, or one of a local number without an international context.
    private static func internationalDigits(_ text: String) -> String? {
        guard text.utf8.count > 4, text.prefix(4).lowercased() == "tel:" else {
            return text.hasPrefix("+") ? digits(text.dropFirst()) : nil
        }
        // A URI of RFC 3966.
        let parts = text.dropFirst(4).split(ascii: ";", omittingEmptySubsequences: false)
        let number = parts[0]
        guard let parameters = parameters(parts.dropFirst()) else { return nil }
        guard let context = parameters["phone-context"] else {
            return number.hasPrefix("+") ? digits(number.dropFirst()) : nil
        }
        // A number in international form has no context.
        guard !number.hasPrefix("+"), context.hasPrefix("+"), let prefix = digits(context.dropFirst()),
            let local = digits(number)
        else { return nil }
        return prefix + local
    }

    /// The parameters of a URI by their names in lower case; nil if one is malformed, or occurs twice.
    private static func parameters(_ parts: ArraySlice<Substring>) -> [String: Substring]? {
        var parameters: [String: Substring] = [:]
        for part in parts {
            let name = part.prefix { $0 != "=" }
            guard !name.isEmpty, name.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") }),
                part.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "-_.!~*'()[]/:&+$%=".utf8.contains($0) }),
                parameters.updateValue(part.dropFirst(name.count + 1), forKey: name.lowercased()) == nil
            else { return nil }
        }
        return parameters
    }

    /// The digits of a number of the North American Numbering Plan: ten, or eleven after the country code.
    private static func nationalDigits(_ text: String, at network: MCCMNC) -> String? {
        guard isNorthAmerican(network), let digits = digits(text[...]) else { return nil }
        return digits.utf8.count == 10 ? "1" + digits : digits.utf8.count == 11 && digits.hasPrefix("1") ? digits : nil
    }

    /// The digits of a text that has digits and visual separators only (RFC 3966 section 3); nil for any other.
    private static func digits(_ text: Substring) -> String? {
        guard text.utf8.allSatisfy({ $0.isASCIIDigit || "-.()".utf8.contains($0) }) else { return nil }
        let digits = text.utf8.filter(\.isASCIIDigit)
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }

    /// Whether the digits begin with a country code, and are as many as numbers of that country may have.
    private static func isInternational(_ digits: String) -> Bool {
        guard (7...15).contains(digits.utf8.count), let first = digits.first, first != "0" else { return false }
        // Zones with one numbering plan, whose numbers have ten digits.
        if first == "7" { return digits.utf8.count == 11 }
        if first == "1" {
            let national = Array(digits.utf8.dropFirst())
            let two = UInt8(ascii: "2")
            return national.count == 10 && national[0] >= two && national[3] >= two
        }
        // Of the zones 2 to 6, 8 and 9 (the list of ITU-T E.164 assigned country codes).
        let code = digits.prefix(codesOfTwoDigits.contains(digits.prefix(2)) ? 2 : 3)
        return !digits.dropFirst(code.count).hasPrefix("0") || codesBeforeZero.contains(code)
    }

    private static let codesOfTwoDigits: Set<Substring> = [
        "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48", "49",
        "51", "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81", "82", "84",
        "86", "90", "91", "92", "93", "94", "95", "98",
    ]

    /// The countries whose national numbers may begin with 0: Italy, San Marino, Ivory Coast, Gabon and Congo.
    /// Elsewhere a 0 is the trunk prefix, which is not part of the international form.
    private static let codesBeforeZero: Set<Substring> = ["39", "378", "225", "241", "242"]

    /// The United States and Canada (ITU-T E.212).
    private static func isNorthAmerican(_ network: MCCMNC) -> Bool {
        guard let country = Int(network.text.prefix(3)) else { return false }
        return country == 302 || (310...316).contains(country)
    }
}

/// The user that a provider other than a carrier is asked to authenticate (CIBA Core section 7.1): one of three hints,
/// which are sent as they are.
struct UserHint: Sendable, Hashable {
    let hint: BackchannelAuthenticationRequest.Hint
    /// By which the user is counted: one text for all spellings of a hint that a provider could take for the same user.
    private let user: String

    /// A text that the provider knows the user by, of 1 to 255 bytes; nil for one with spaces around it or with control
    /// characters.
    init?(loginHint text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.first != 0x20, text.utf8.last != 0x20,
            text.unicodeScalars.allSatisfy({ !Self.isControl($0) })
        else { return nil }
        hint = .loginHint(Secret(text))
        user = Self.phoneNumber(text).map { "tel:" + $0 } ?? "hint:" + text.lowercased()
    }

    /// A token in a form of the provider's own; nil if it is not visible ASCII.
    init?(loginHintToken text: String) {
        guard Self.isVisible(text) else { return nil }
        hint = .loginHintToken(Secret(text))
        user = "token:" + text
    }

    /// An ID token of the provider. It counts for its subject, so that a new one does not count as a new user; nil for
    /// a text that is no JWT with a `sub`. The provider verifies it.
    init?(idTokenHint text: String) {
        let parts = text.split(ascii: ".", omittingEmptySubsequences: false)
        guard Self.isVisible(text), parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
            let subject = (try? JSONValue(parsing: payload))?.object?["sub"]?.string
        else { return nil }
        hint = .idTokenHint(Secret(text))
        user = "sub:" + subject
    }

    /// The hash under which the user is counted.
    func hash(with key: SymmetricKey, at issuer: String) -> TokenHash {
        TokenHash(hmacOf: "\(issuer)\n\(user)", key: key)
    }

    /// The digits of a text that reads as a phone number.
    private static func phoneNumber(_ text: String) -> String? {
        let lower = text.lowercased()
        let number = lower.hasPrefix("tel:") ? lower.dropFirst(4).prefix { $0 != ";" } : lower[...]
        guard number.utf8.allSatisfy({ $0.isASCIIDigit || "+-.() ".utf8.contains($0) }) else { return nil }
        let digits = number.utf8.filter(\.isASCIIDigit)
        return digits.count >= 7 ? String(decoding: digits, as: UTF8.self) : nil
    }

    private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy(\.isVisibleASCII) }

    private static func isControl(_ character: Unicode.Scalar) -> Bool {
        switch character.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}

extension Provider {
    /// The key of ``LoginHint/hash(with:at:)`` and ``UserHint/hash(with:at:)``: the same for all clients and on all
    /// instances, and in no database. Nil if no client can start backchannel authentications.
    var userKey: SymmetricKey? {
        let purpose = "users of backchannel requests"
        let clients = allClients.sorted { $0.id.text < $1.id.text }
        if let key = clients.lazy.compactMap(\.signingKey).first { return key.derivedKey(for: purpose) }
        guard openID != nil, let secret = clients.lazy.compactMap(\.authentication.secret).first else { return nil }
        return SymmetricKey(derivedFrom: secret.exposed, for: purpose)
    }
}

extension ClientAuthentication {
    /// What only the client has, besides a ``ClientKey``; nil for a public client.
    fileprivate var secret: Secret? {
        switch self {
        case .clientSecretBasic(let secret, _), .clientSecretPost(let secret): secret
        case .tlsClientAuth(let clientTLS), .selfSignedTLSClientAuth(let clientTLS): clientTLS.certificate.privateKey
        case .privateKeyJWT, .signedClientSecret, .publicClient: nil
        }
    }
}
