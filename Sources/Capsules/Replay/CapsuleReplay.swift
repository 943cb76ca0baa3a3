import OpenIDConnect
package import Primitives
import SignIn

/// Checks the refused token of a capsule again, offline, with the rules and the configuration of today.
///
/// The rules are those of sign-ins and logouts, and the time is the capsule's. What needs the token's text, the
/// keys or a secret is taken over from the capsule, and the verdict names it. Other failures are not replayed.
package struct CapsuleReplay: Sendable {
    /// The longest file that is read, in bytes. A capsule has at most 32 KiB, and may have been indented.
    package static let maximumBytes = 256 * 1024

    /// Why a capsule is not replayed.
    package struct ReplayError: Error, Sendable, Hashable, CustomStringConvertible {
        package enum Code: Sendable {
            /// The file is not a capsule.
            case unreadable
            /// The capsule is of another format.
            case format
            /// No check of a token decided the failure, or what decided is not in the capsule.
            case notReplayable
            /// The configuration has no such provider.
            case configuration
        }

        package let code: Code
        package let description: String

        init(_ code: Code, _ description: String) {
            self.code = code
            self.description = description
        }
    }

    struct Failure: Sendable, Hashable {
        let code: String
        let check: String?
        let errorType: String
        let step: String?
        /// What was wrong; nil if the capsule does not show it.
        let cause: String?
    }

    typealias Step = (check: String, demand: String, verdict: TokenVerdict, found: String, isRecorded: Bool)

    /// ``ProviderReference/text`` of the provider.
    package let provider: String
    package let clientID: String
    package let correlationID: String
    /// When the sign-in failed.
    package let time: Timestamp
    /// The version of Latchkey that made the capsule.
    package let version: String
    package let content: JSONObject
    let failure: Failure

    /// Reads a capsule, which may come from anyone.
    package init(parsing bytes: [UInt8]) throws(ReplayError) {
        guard bytes.count <= Self.maximumBytes else {
            throw ReplayError(.unreadable, "it has more than \(Self.maximumBytes / 1024) KiB, as no capsule has")
        }
        let parsed: JSONValue
        do throws(JSONSyntaxError) {
            parsed = try JSONValue(parsing: bytes)
        } catch {
            throw ReplayError(
                .unreadable, "it is not JSON (\(error.code.rawValue) at byte \(error.offset)); export it again")
        }
        guard let content = parsed.object, let format = content["capsule"]?.integer else {
            throw ReplayError(
                .unreadable, "it is not an object with a member capsule; latchkey capsule export writes one")
        }
        guard format == Int64(Capsule.format) else {
            throw ReplayError(
                .format,
                "it is of format \(format), and only format \(Capsule.format) can be replayed: let the sign-in fail "
                    + "again with this version")
        }
        guard let failure = content["failure"]?.object, let code = failure["code"]?.string,
            let errorType = failure["error_type"]?.string, let request = content["request"]?.object,
            let provider = request["provider"]?.string, let version = content["version"]?.string,
            let time = content["time"]?.string.flatMap(UTCTime.moment)
        else { throw ReplayError(.unreadable, "a member is missing that every capsule has; export it again") }
        self.content = content
        self.provider = provider
        self.time = time
        self.version = version
        clientID = request["client_id"]?.string ?? ""
        correlationID = content["correlation_id"]?.string ?? ""
        self.failure = Failure(
            code: code, check: failure["check"]?.string, errorType: errorType, step: failure["step"]?.string,
            cause: failure["cause"]?.string)
    }

    /// A text of the file for a message.
    static func shown(_ text: String) -> String {
        let clean = text.unicodeScalars.prefix(80).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" }
        return String(clean)
    }
    /// The longest times of a configuration, in seconds: a year.
    private static let times: ClosedRange<Int64> = 0...31_622_400
    /// The most words of one setting.
    private static let maximumWords = 64

    /// These settings with what the capsule recorded in their place.
    /// - Throws: ``ReplayError`` if what it recorded is not a setting.
    func recorded(in settings: ReplaySettings) throws(ReplayError) -> ReplaySettings {
        var settings = settings
        let shown = content["settings"]?.object
        var rules = settings.relyingParty.idTokenRules
        rules.clockSkewSeconds = try Self.seconds(shown?["clock_skew"]) ?? rules.clockSkewSeconds
        rules.maximumAgeSeconds = try Self.seconds(shown?["max_age_of_issue"]) ?? rules.maximumAgeSeconds
        if let names = Self.words(shown?["id_token_types"]) {
            rules.types = names.compactMap(IDTokenType.init(rawValue:))
        }
        if let names = Self.words(shown?["trusted_audiences"]) {
            (rules.trustedAudiences, rules.clientAudiences) = (Set(names.compactMap { ClientID($0) }), [:])
            if let id = ClientID(clientID) { settings.clients[id]?.trustedAudiences = [] }
        }
        if let names = Self.words(shown?["tenants"]) { rules.tenants?.allowed = names == ["any"] ? nil : Set(names) }
        rules.nonceMayBeMissing = shown?["nonce_may_be_missing"]?.bool ?? false
        settings.relyingParty.idTokenRules = rules
        if let id = ClientID(clientID), let names = Self.words(shown?["signing_algorithms"]) {
            settings.clients[id]?.idTokenSigningAlgorithm = nil
            settings.clients[id]?.usualSigningAlgorithms = Set(
                names.compactMap(SigningAlgorithm.init(rawValue:)))
        }
        return settings
    }

    private static func seconds(_ shown: JSONValue?) throws(ReplayError) -> Int64? {
        guard let seconds = shown?.integer else { return nil }
        guard times.contains(seconds) else {
            throw ReplayError(.unreadable, "a time in its settings is none of a configuration")
        }
        return seconds
    }

    private static func words(_ shown: JSONValue?) -> [String]? {
        shown?.array.map { $0.prefix(maximumWords).compactMap(\.string) }
    }
}

/// What the token of a capsule is judged by.
struct ReplaySettings: Sendable {
    var clients: [ClientID: SignInConfiguration.Client]
    var relyingParty: RelyingParty.Configuration
}

/// Values in the place of a capsule's pseudonyms: of the same kind and length, and equal ones for equal pseudonyms, so
/// that a rule finds the form and the equality that it had found. A time far away stays on its side of the moment.
struct StandIns {
    /// The most bytes of all values together. No token that is read is longer.
    private var bytesLeft = 64 * 1024

    /// What a rule compares with configured texts keeps its pseudonym, which is none of them.
    private static let comparedClaims: Set = ["iss", "aud", "azp", "acr"]

    /// The claims of a token with values in the place of pseudonyms.
    /// - Throws: ``CapsuleReplay/ReplayError`` if they are longer than any token's.
    mutating func claims(_ shown: JSONObject) throws(CapsuleReplay.ReplayError) -> JSONObject? {
        var claims: [(name: String, value: JSONValue?)] = []
        for member in shown.members {
            let isCompared = Self.comparedClaims.contains(member.name)
            claims.append((member.name, isCompared ? member.value : try value(member.value)))
        }
        return JSONValue.object(of: claims).object
    }

    /// A text with a value in the place of a pseudonym.
    mutating func text(_ shown: JSONValue?) throws(CapsuleReplay.ReplayError) -> String? {
        guard let shown else { return nil }
        return try value(shown).string
    }

    private mutating func value(_ shown: JSONValue) throws(CapsuleReplay.ReplayError) -> JSONValue {
        guard let text = shown.string, text.hasPrefix("‹"), text.hasSuffix("›") else { return shown }
        let words = text.dropFirst().dropLast().split(ascii: " ")
        guard words.count == 3, let kind = Pseudonyms.Kind(rawValue: String(words[0])), let length = Int(words[1]),
            length >= 0
        else { return shown }
        guard length <= bytesLeft else {
            throw CapsuleReplay.ReplayError(.unreadable, "its values are longer than any capsule's")
        }
        bytesLeft -= length
        return Self.value(kind, length, digest: Array(words[2].utf8))
    }

    private static func value(_ kind: Pseudonyms.Kind, _ length: Int, digest: [UInt8]) -> JSONValue {
        switch kind {
        case .word, .visible, .uri, .name: return .string(letters(length, digest))
        case .ascii: return .string(letters(length, digest, first: " "))
        case .text: return .string(letters(length, digest, first: length > 1 ? "é" : ""))
        case .control: return .string(letters(length, digest, first: "\n"))
        case .integer:
            var number: Int64 = 1
            for _ in 1..<max(1, min(length, 19)) { number *= 10 }
            return .integer(number)
        case .negative: return -1
        case .fraction: return .number(0.5)
        case .past: return 1
        case .future: return .integer(1 << 52)
        case .beyond: return .integer(.max)
        }
    }

    /// A text of so many bytes.
    private static func letters(_ length: Int, _ digest: [UInt8], first: String = "") -> String {
        let letters = (first.utf8.count..<max(first.utf8.count, length)).map { digest[$0 % digest.count] }
        return first + String(decoding: letters, as: UTF8.self)
    }
}
