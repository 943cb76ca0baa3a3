package import Crypto
package import OpenIDConnect
package import Primitives
package import StorageModel

/// The user that a login hint names, as far as limits need to know: two spellings of a phone number are the same user.
package struct PromptedUser: Sendable, Hashable {
    /// Distinct for distinct users: a phone number in international form, or an issuer and its subject.
    private let text: String

    /// - Parameters:
    ///   - hint: A phone number in any spelling, or the carrier's subject for the user.
    ///   - network: The network decides how a number without a country code is read.
    ///   - issuer: The carrier, whose subjects differ from another one's.
    package init(_ hint: Secret, at network: MCCMNC, of issuer: String) {
        if let number = Self.internationalNumber(hint.exposed, at: network) {
            text = "tel:+" + number
        } else {
            text = "sub:\(issuer)\n\(hint.exposed)"
        }
    }

    /// The hash under which the user is stored. Phone numbers are few enough to hash them all, so it needs a key.
    package func hash(with key: SymmetricKey) -> TokenHash {
        let code = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
        return TokenHash(Array(code)) ?? TokenHash(sha256Of: "")
    }

    /// The digits of a number in international form (ITU-T E.164), without `+`; nil if the text is no number.
    ///
    /// It reads the form of RFC 3966 (`tel:`), visual separators, extensions and international prefixes. A number
    /// without a country code is completed where the network's country is one of the North American Numbering Plan;
    /// elsewhere it stays a number of its own.
    private static func internationalNumber(_ text: String, at network: MCCMNC) -> String? {
        guard let digits = digits(of: text) else { return nil }
        let number = digits.drop { $0 == "0" }
        if isNorthAmerican(network), number.count >= 10 { return "1" + number.suffix(10) }
        return (7...15).contains(number.count) ? String(number) : nil
    }

    /// The digits before an extension or a parameter; nil if anything else than separators is between them.
    private static func digits(of text: String) -> String? {
        var digits = ""
        for character in withoutScheme(text).unicodeScalars {
            switch character {
            case "0"..."9": digits.unicodeScalars.append(character)
            case "+", " ", "\t", "-", ".", "(", ")", "[", "]", "/", "_", "~": continue
            case ";", ",", "@", "?", "#", "*", "&": return context(of: text) + digits
            case "x", "X", "e", "E", "p", "P", "w", "W":
                return digits.utf8.count >= 7 && isExtension(text) ? digits : nil
            default: return nil
            }
        }
        return digits
    }

    /// The digits of a local number's context, which stand before it (RFC 3966, section 5.1.5).
    private static func context(of text: String) -> String {
        let text = text.lowercased()
        guard let start = text.firstRange(of: ";phone-context=+") else { return "" }
        return text[start.upperBound...].prefix { $0.isASCII && ($0.isNumber || "-.()".contains($0)) }
            .filter(\.isNumber)
    }

    /// Whether what follows the first letter of a number is an extension: `ext. 5`, `x5`, `p5`.
    private static func isExtension(_ text: String) -> Bool {
        let tail = withoutScheme(text).lowercased().drop { !$0.isLetter }
        let word = tail.prefix { $0.isLetter }
        return ["x", "ext", "extension", "p", "w"].contains(word)
            && tail.dropFirst(word.count).allSatisfy { $0.isASCII && !$0.isLetter }
    }

    /// Without a URI scheme such as `tel:` or `sip:`.
    private static func withoutScheme(_ text: String) -> Substring {
        guard let colon = text.firstIndex(of: ":"), let first = text.first, first.isLetter else { return text[...] }
        return text[text.index(after: colon)...].drop { $0 == "/" }
    }

    /// The United States and Canada (ITU-T E.212).
    private static func isNorthAmerican(_ network: MCCMNC) -> Bool {
        guard let country = Int(network.text.prefix(3)) else { return false }
        return country == 302 || (310...316).contains(country)
    }
}

extension SignInConfiguration.Provider {
    /// The key of ``PromptedUser/hash(with:)``: the same for all clients and on all instances, and in no database. Nil
    /// if no client can start backchannel authentications.
    var userKey: SymmetricKey? {
        let clients = clients.values.filter { $0.signingKey != nil }
        return clients.min { $0.id.text < $1.id.text }?.signingKey?.derivedKey(for: "users of backchannel requests")
    }
}
