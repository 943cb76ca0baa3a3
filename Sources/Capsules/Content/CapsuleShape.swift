import Crypto
import OpenIDConnect
import Primitives

/// Makes what a capsule may show of documents that a provider sent.
///
/// Of JSON it keeps members, those with known names first, known names, known values under names that are compared,
/// times and booleans; every other text and number becomes a pseudonym.
struct CapsuleShape {
    /// The most values of one response, of the ID token, or of the checks.
    static let maximumValues = 200
    /// The most levels of objects and arrays. A reader of the capsule must be able to parse it.
    private static let maximumDepth = 8
    /// A time within these seconds of the failure is shown: ten years. Other numbers could be personal.
    private static let nearTimes: Int64 = 315_360_000
    /// A lifetime of at most so many seconds is shown: three years.
    private static let longestLifetime: Int64 = 99_999_999
    /// The most members or elements of one object or array.
    private static let maximumMembers = 64
    /// A longer text is never shown.
    private static let longestText = 255

    var pseudonyms: Pseudonyms
    /// Configured texts, and those of the provider's metadata.
    let known: Set<String>
    /// When the sign-in failed.
    private let now: Timestamp
    private var valuesLeft = CapsuleShape.maximumValues
    /// Whether the scheme and host of a URL are shown: in discovery documents, which are public.
    var showsURLs = false

    init(_ pseudonyms: Pseudonyms, known: Set<String>, at now: Timestamp) {
        self.pseudonyms = pseudonyms
        self.known = known
        self.now = now
    }

    /// Begins another part of the capsule, which has its own number of values.
    mutating func beginPart() { valuesLeft = Self.maximumValues }

    private func isKnown(_ text: String) -> Bool {
        text.utf8.count <= Self.longestText && (known.contains(text) || CapsuleVocabulary.values.contains(text))
    }

    /// A text as it is if it is known, else its pseudonym.
    mutating func text(_ text: String) -> String { isKnown(text) ? text : pseudonyms.pseudonym(of: text) }

    /// A list of words, each as it is if it is known.
    mutating func words(_ words: [String]) -> JSONValue {
        .texts(words.prefix(Self.maximumMembers).map { text($0) })
    }

    mutating func shape(_ value: JSONValue, named name: String, depth: Int = 0) -> JSONValue {
        valuesLeft -= 1
        guard valuesLeft > 0, depth < Self.maximumDepth else { return .string("…") }
        switch value {
        case .null, .bool: return value
        case .integer, .number:
            if let number = Self.wholeSeconds(value, named: name), isShown(number, named: name) {
                return .integer(number)
            }
            if CapsuleVocabulary.comparedNames.contains(name), known.contains(value.text) { return value }
            return .string(pseudonyms.pseudonym(of: value.text, kind: kind(of: value, named: name)))
        case .string(let text):
            if showsURLs, CapsuleVocabulary.urls.contains(name) { return .string(url(text)) }
            if CapsuleVocabulary.caseless[name]?.contains(text.lowercased()) == true { return value }
            guard CapsuleVocabulary.comparedNames.contains(name) else {
                return .string(pseudonyms.pseudonym(of: text))
            }
            guard name == "scope" else { return .string(self.text(text)) }
            let words = text.split(ascii: " ").prefix(Self.maximumMembers).map { self.text(String($0)) }
            return .string(words.joined(separator: " "))
        case .array(let elements):
            var shown = elements.prefix(Self.maximumMembers).map { shape($0, named: name, depth: depth + 1) }
            if elements.count > shown.count { shown.append(.string("… \(elements.count) in all")) }
            return .array(shown)
        case .object(let object): return shape(object, depth: depth)
        }
    }

    private func isShown(_ number: Int64, named name: String) -> Bool {
        if CapsuleVocabulary.lifetimes.contains(name) { return (0...Self.longestLifetime).contains(number) }
        guard CapsuleVocabulary.times.contains(name) else { return false }
        let moment = now.secondsSinceEpoch
        return (moment - Self.nearTimes...moment + Self.nearTimes).contains(number)
    }

    /// The members with known names come first, so that others do not take their place: checks look at known names
    /// alone. The outermost object has all of them; of one for which there is no room, the value is `…`.
    mutating func shape(_ object: JSONObject, depth: Int = 0) -> JSONValue {
        var members: [(name: String, value: JSONValue?)] = []
        let isKnown = { (member: JSONObject.Member) in CapsuleVocabulary.names.contains(member.name) }
        // Arrays and objects may need all the room.
        let isSmall = { (member: JSONObject.Member) in member.value.array == nil && member.value.object == nil }
        let known = object.members.filter(isKnown)
        for member in known.filter(isSmall) + known.filter({ !isSmall($0) }) where valuesLeft > 0 || depth == 0 {
            members.append((member.name, shape(member.value, named: member.name, depth: depth + 1)))
        }
        for member in object.members.filter({ !isKnown($0) }).prefix(max(0, Self.maximumMembers - known.count)) {
            guard valuesLeft > 0 else { break }
            let name = pseudonyms.pseudonym(of: member.name, kind: .name)
            members.append((name, shape(member.value, named: "", depth: depth + 1)))
        }
        if members.count < object.members.count { members.append(("…", .string("\(object.members.count) in all"))) }
        return .object(of: members)
    }

    /// The content of a response: its shape if it is JSON, the token's if it is a token in compact form, else why it is
    /// neither.
    /// - Parameter keys: Those that may have signed a token; nil if there are none.
    mutating func content(_ bytes: [UInt8], maximumBytes: Int, keys: JSONWebKeySet?) -> JSONValue {
        guard !bytes.isEmpty else { return .object(of: [("bytes", 0)]) }
        let size = JSONValue.integer(Int64(bytes.count))
        guard bytes.count <= maximumBytes else {
            return .object(of: [("bytes", size), ("omitted", "too_long")])
        }
        do throws(JSONSyntaxError) {
            let json = try JSONValue(parsing: bytes)
            return .object(of: [("bytes", size), ("json", shape(json, named: ""))])
        } catch {
            let text = Secret(String(decoding: bytes, as: UTF8.self))
            if let compact = CompactToken(text, maximumBytes: maximumBytes), compact.header != nil {
                let verifies = keys.flatMap { $0.verifies(text, maximumBytes: maximumBytes) }
                let token = JSONValue.object(of: members(of: compact) + [("verifies", verifies.map { .bool($0) })])
                return .object(of: [("bytes", size), ("token", token)])
            }
            let fault: [(name: String, value: JSONValue?)] = [
                ("fault", .string(error.code.rawValue)), ("offset", .integer(Int64(error.offset))),
            ]
            return .object(of: [("bytes", size), ("not_json", .object(of: fault))])
        }
    }

    /// The parts of a token: each as its shape, or what is wrong with it.
    mutating func members(of compact: CompactToken) -> [(name: String, value: JSONValue?)] {
        let header = part(compact.headerPart)
        let claims = part(compact.payload)
        return [
            ("header", header.shape), ("header_fault", header.fault), ("claims", claims.shape),
            ("claims_fault", claims.fault),
            ("signature_bytes", compact.signature.length.map { .integer(Int64($0)) }),
        ]
    }

    private mutating func part(_ part: CompactToken.Part) -> (shape: JSONValue?, fault: JSONValue?) {
        (part.object.map { shape($0) }, part.fault.map { .string($0) })
    }

    /// A number as whole seconds if it is a time, whose fraction no check looks at; a whole number otherwise.
    private static func wholeSeconds(_ value: JSONValue, named name: String) -> Int64? {
        if let number = value.integer { return number }
        guard CapsuleVocabulary.times.contains(name), let number = value.double else { return nil }
        return Int64(exactly: number.rounded(.down))
    }

    private func kind(of number: JSONValue, named name: String) -> Pseudonyms.Kind {
        if CapsuleVocabulary.times.contains(name), let seconds = number.double {
            guard seconds >= 0 else { return .negative }
            guard seconds < 0x1p53 else { return .beyond }
            return seconds < Double(now.secondsSinceEpoch) ? .past : .future
        }
        guard let whole = number.integer else { return .fraction }
        return whole < 0 ? .negative : .integer
    }

    /// A URL of a public document: scheme and host as they are, and pseudonyms for the rest. A host that is not a usual
    /// name, or has a long number, is a pseudonym, too.
    mutating func url(_ text: String) -> String {
        if isKnown(text) { return text }
        guard let end = text.firstRange(of: "://") else { return pseudonyms.pseudonym(of: text) }
        let scheme = text[..<end.lowerBound]
        guard CapsuleVocabulary.schemes.contains(String(scheme)) else { return pseudonyms.pseudonym(of: text) }
        let rest = text[end.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let parts = authority.split(ascii: "@", maxSplits: 1, omittingEmptySubsequences: false)
        var shown = scheme + "://"
        if parts.count == 2 { shown += pseudonyms.pseudonym(of: String(parts[0])) + "@" }
        let host = String(parts.last ?? "")
        shown += self.host(host)
        let after = rest.dropFirst(authority.count)
        guard let first = after.first else { return String(shown) }
        let path = String(after.dropFirst())
        return shown + String(first) + (path.isEmpty ? "" : pseudonyms.pseudonym(of: path))
    }

    /// The host of a URL, with or without a port.
    mutating func host(_ host: String) -> String { Self.isPublic(host) ? host : pseudonyms.pseudonym(of: host) }

    /// Whether a host, with or without a port, is a name or an address that can be shown.
    private static func isPublic(_ host: String) -> Bool {
        guard (1...255).contains(host.utf8.count) else { return false }
        var digits = 0
        for byte in host.utf8 {
            digits = byte.isASCIIDigit ? digits + 1 : 0
            guard digits < 7, byte.isASCIIDigit || byte.isASCIILetter || "-.:[]".utf8.contains(byte) else {
                return false
            }
        }
        return true
    }

    /// The fields of a response, each by its own grammar.
    mutating func fields(of response: OutboundResponse) -> JSONValue {
        .object(of: [
            ("content_type", response.contentType.map { .string(mediaType($0)) }),
            ("cache_control", response.cacheControl.map { .string(cacheControl($0)) }),
            ("retry_after", response.retryAfter.map { .string(number($0)) }),
            ("date", response.date.map { .string(date($0)) }),
            ("dpop_nonce", response.dpopNonce.map { .string(pseudonyms.pseudonym(of: $0)) }),
            ("www_authenticate", response.wwwAuthenticate.map { .string(challenge($0)) }),
        ])
    }

    private mutating func mediaType(_ field: String) -> String {
        guard let type = MediaTypeText.essence(of: field), CapsuleVocabulary.mediaTypes.contains(type) else {
            return pseudonyms.pseudonym(of: field)
        }
        return type
    }

    private mutating func cacheControl(_ field: String) -> String {
        var shown: [String] = []
        for part in field.split(ascii: ",").prefix(16) {
            let directive = part.split(ascii: "=", maxSplits: 1).map { $0.filter { $0 != " " }.lowercased() }
            guard let name = directive.first, CapsuleVocabulary.cacheDirectives.contains(name) else {
                shown.append(pseudonyms.pseudonym(of: String(part)))
                continue
            }
            let hasNumber = directive.count == 2 && CapsuleVocabulary.timedDirectives.contains(name)
            shown.append(hasNumber ? "\(name)=\(number(directive[1]))" : name)
        }
        return shown.joined(separator: ", ")
    }

    /// At most eight digits as they are: seconds.
    private mutating func number(_ text: String) -> String {
        let isNumber = (1...8).contains(text.utf8.count) && text.utf8.allSatisfy(\.isASCIIDigit)
        return isNumber ? text : pseudonyms.pseudonym(of: text)
    }

    /// A date of RFC 9110 section 5.6.7 as it is.
    private mutating func date(_ text: String) -> String {
        let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        guard let moment = UTCTime.moment(text, in: .http), ("1970"..."2100").contains(UTCTime.text(moment).prefix(4)),
            days.contains(where: text.hasPrefix)
        else { return pseudonyms.pseudonym(of: text) }
        return text
    }

    private mutating func challenge(_ field: String) -> String {
        if DPoPChallenge.demandsNonce(field) { return #"DPoP error="use_dpop_nonce""# }
        let scheme = field.prefix { $0 != " " }
        let rest = field.dropFirst(scheme.count)
        let shown = text(String(scheme))
        return rest.isEmpty ? shown : shown + " " + pseudonyms.pseudonym(of: String(rest))
    }
}

extension CompactToken.Part {
    /// Why it is not a JSON object; nil if it is one.
    var fault: String? {
        switch self {
        case .empty: return "empty"
        case .notBase64URL: return "not_base64url"
        case .bytes(let bytes):
            do throws(JSONSyntaxError) {
                return try JSONValue(parsing: bytes).object == nil ? "not_an_object" : nil
            } catch {
                return error.code.rawValue
            }
        }
    }

    /// In bytes; nil if it is not base64url.
    var length: Int? {
        switch self {
        case .empty: 0
        case .notBase64URL: nil
        case .bytes(let bytes): bytes.count
        }
    }
}

/// Replaces the values of one capsule by pseudonyms.
///
/// A pseudonym is a kind, a length in bytes and a keyed digest: `‹word 24 9f2c31d07ab4›`. Equal values have equal
/// pseudonyms within one capsule. The key is random and is thrown away with the pseudonyms, so that no value can be
/// found by guessing, and two capsules cannot be joined.
struct Pseudonyms {
    /// What kind of value a pseudonym stands for, as far as checks depend on it.
    enum Kind: String, CaseIterable {
        /// Letters, digits, `-` and `_`.
        case word
        /// Visible ASCII characters.
        case visible
        /// Visible ASCII characters that begin with the scheme of a URI (RFC 3986 section 3.1).
        case uri
        /// Visible ASCII characters and spaces.
        case ascii
        /// Any other text without control characters.
        case text
        case control
        case name
        /// A number that is whole, not negative, and below 2⁶³.
        case integer
        case negative
        /// Any other number.
        case fraction
        /// A time more than ten years before the failure.
        case past
        /// A time more than ten years after the failure.
        case future
        /// A number of seconds from 2⁵³ on, which is not a time.
        case beyond

        init(of text: String) {
            let bytes = text.utf8
            if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                self = .control
            } else if bytes.isEmpty || bytes.contains(where: { $0 > 0x7F }) {
                self = .text
            } else if bytes.contains(0x20) {
                self = .ascii
            } else {
                self = bytes.allSatisfy(Self.isOfWord) ? .word : Self.hasScheme(bytes) ? .uri : .visible
            }
        }

        private static func hasScheme(_ bytes: String.UTF8View) -> Bool {
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes.index(after: colon) < bytes.endIndex,
                bytes.first?.isASCIILetter == true
            else { return false }
            return bytes[..<colon].allSatisfy { byte in
                isOfWord(byte) && byte != UInt8(ascii: "_") || "+.".utf8.contains(byte)
            }
        }

        private static func isOfWord(_ byte: UInt8) -> Bool {
            byte.isASCIILetterOrDigit || "-_".utf8.contains(byte)
        }
    }

    /// The fewest bytes of a member's name that may be a secret or personal. Shorter ones may be words of a sentence.
    private static let longName = 16

    private let key: SymmetricKey
    /// The replaced values, without the short names of members.
    private var replaced: Set<String> = []

    init(_ random: RandomSource) { key = SymmetricKey(data: random.bytes(32)) }

    /// - Parameter kind: Nil for the kind of the text.
    mutating func pseudonym(of value: String, kind: Kind? = nil) -> String {
        if kind != .name || value.utf8.count >= Self.longName { replaced.insert(value) }
        let digest = HMAC<SHA256>.authenticationCode(for: Array(value.utf8), using: key)
        let kind = kind ?? Kind(of: value)
        return "‹\(kind.rawValue) \(value.utf8.count) \(Array(digest.prefix(6)).hexadecimal)›"
    }

    /// A sentence of this program; nil if it contains a replaced value, which no sentence should. Values of fewer than
    /// eight bytes, those with spaces, known names of members and short ones are not looked for: a provider could send
    /// words of the sentence.
    func sentence(_ text: String) -> String? {
        let contains = replaced.contains { value in
            value.utf8.count >= 8 && !value.utf8.contains(0x20) && !CapsuleVocabulary.names.contains(value)
                && text.contains(value)
        }
        return contains ? nil : text
    }
}
