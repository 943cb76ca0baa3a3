package import Crypto
package import Primitives

/// The header of a token (RFC 7515 section 4), with what selects its rules and its keys. It is read once.
package struct TokenHeader: Sendable {
    package let members: JSONObject
    /// Nil if the header names no known algorithm.
    let algorithm: SigningAlgorithm?
    /// Nil for a token that is marked as another one than an ID token.
    let type: IDTokenType?
    /// Nil if the header names no key, or not by a text.
    let keyID: String?
    /// Whether a key id is a text, if there is one.
    let isWellFormed: Bool

    package init(_ members: JSONObject) {
        self.members = members
        let keyID = members["kid"]
        self.keyID = keyID?.string
        isWellFormed = keyID == nil || keyID?.string != nil
        algorithm = members["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:))
        type = IDTokenType(members["typ"])
    }

    package subscript(_ name: String) -> JSONValue? { members[name] }
}

/// A JWT in compact form (RFC 7515 section 7.1), split at its first two dots, with each part as far as it can be read.
package struct CompactToken: Sendable {
    /// One part.
    package enum Part: Sendable {
        case empty
        /// For instance because of a further dot.
        case notBase64URL
        case bytes([UInt8])

        fileprivate init(_ text: Slice<UnsafeBufferPointer<UInt8>>) {
            let bytes = text.isEmpty ? [] : Base64URL.decode(UnsafeBufferPointer(rebasing: text))
            self = bytes.map { $0.isEmpty ? .empty : .bytes($0) } ?? .notBase64URL
        }

        /// Nil if the part is empty or not base64url.
        package var bytes: [UInt8]? {
            guard case .bytes(let bytes) = self else { return nil }
            return bytes
        }

        /// Nil if the part is not base64url of a strict JSON object.
        package var object: JSONObject? { bytes.flatMap { JSONObject(claims: $0) } }
    }

    package let headerPart: Part
    /// Of ``headerPart``, if that is a strict JSON object.
    package let header: TokenHeader?
    /// Not to be trusted before the signature verifies.
    package let payload: Part
    package let signature: Part
    /// Everything before the second dot, as the algorithm of the header needs it; nil if there is no known one.
    let signed: SignedContent?

    /// Nil if the text has more bytes than allowed, or fewer than two dots.
    package init?(_ text: Secret, maximumBytes: Int) {
        let text = text.exposed
        // Checked before anything is decoded, so that a large token costs nothing.
        guard text.utf8.count <= maximumBytes else { return nil }
        guard let token = text.withBytes({ CompactToken($0) }) else { return nil }
        self = token
    }

    private init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        let dot = UInt8(ascii: ".")
        guard let first = bytes.firstIndex(of: dot), let second = bytes[(first + 1)...].firstIndex(of: dot) else {
            return nil
        }
        headerPart = Part(bytes[..<first])
        header = headerPart.object.map { TokenHeader($0) }
        payload = Part(bytes[(first + 1)..<second])
        signature = Part(bytes[(second + 1)...])
        signed = header?.algorithm.map {
            SignedContent(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[..<second]), signedBy: $0)
        }
    }

    /// Whether all three parts can be read. A key id must be a text.
    var isWellFormed: Bool { header?.isWellFormed == true && payload.bytes != nil && signature.bytes != nil }

    /// The claims of a token that this server signed with ES256; nil for any other token.
    /// - Parameter type: The header's `typ`, which no other kind of signed text has (RFC 8725 section 3.11).
    package func claims(ofType type: String, signedBy key: P256.Signing.PublicKey) -> JSONObject? {
        guard let header, header["typ"]?.string == type, header["crit"] == nil,
            header.algorithm == .es256, case .sha256(let digest) = signed, let bytes = signature.bytes,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.isValidSignature(signature, for: digest)
        else { return nil }
        return payload.object
    }
}

extension JSONObject {
    /// Reads the claims of a token; nil unless they are one strict JSON object.
    package init?(claims payload: [UInt8]) {
        guard let object = (try? JSONValue(parsing: payload))?.object else { return nil }
        self = object
    }
}

/// A signed JWT whose header is read and whose signature is not checked yet.
///
/// Of its header, only what selects the key is kept. The payload is not read before the signature verifies. The
/// header's `jku`, `jwk`, `x5u` and `x5c`, which name or contain keys, are never used.
package struct SignedToken: Sendable {
    let algorithm: SigningAlgorithm
    package let keyID: String?
    /// Nil for a token that is marked as another one than an ID token.
    package let type: IDTokenType?
    /// Everything before the second dot.
    let signed: SignedContent
    let signature: [UInt8]
    package let payload: [UInt8]

    /// Reads a token in strict compact form whose header meets every rule for its type.
    ///
    /// - Parameter algorithms: What the token may be signed with.
    /// - Throws: ``IDTokenCheck/format``, or the check of the rule that is not met.
    package init(
        _ text: Secret, maximumBytes: Int, type: TokenType = .standard, signedWith algorithms: Set<SigningAlgorithm>
    ) throws(OIDCError) {
        guard let compact = CompactToken(text, maximumBytes: maximumBytes), compact.isWellFormed,
            let header = compact.header
        else { throw .failed(.format) }
        let context = HeaderValidationContext(header: header, type: type, algorithms: algorithms)
        for rule in HeaderValidationContext.headerRules where !rule.isMet(context) { throw .failed(rule.check) }
        // The rules refuse a header without a known algorithm.
        guard let token = SignedToken(compact) else { throw .failed(.algorithm) }
        self = token
    }

    /// What is needed to check the signature, even if the header breaks a rule; nil if something of it is missing.
    init?(_ compact: CompactToken) {
        guard compact.isWellFormed, let header = compact.header, let payload = compact.payload.bytes,
            let signature = compact.signature.bytes, let algorithm = header.algorithm, let signed = compact.signed
        else { return nil }
        self.algorithm = algorithm
        keyID = header.keyID
        type = header.type
        self.signed = signed
        self.signature = signature
        self.payload = payload
    }

    /// Whether the key has signed it.
    package func isSigned(with key: PublicKey) -> Bool { key.verifies(signature, of: signed, by: algorithm) }

    /// SHA-256 of what is signed; nil if the algorithm uses another hash.
    package var sha256: [UInt8]? {
        guard case .sha256(let digest) = signed else { return nil }
        return Array(digest)
    }
}

/// How a provider marks its ID tokens in the header parameter `typ` (RFC 7515 section 4.1.9). The raw values are the
/// words of the setting `id_token_types`. Letters of `typ` are compared without regard to case.
public enum IDTokenType: String, Sendable, Hashable, CaseIterable {
    /// `JWT`.
    case jwt = "JWT"
    /// There is no `typ`.
    case absent
    /// `at+jwt`, which is the type of access tokens (RFC 9068 section 2.1) and which ZenKey's guides show in ID tokens
    /// (iOS guide section 9.2). A token of this type must have the claims of an ID token
    /// (``IDTokenCheck/idTokenClaims``).
    case accessToken = "at+jwt"

    /// The types that are accepted of a provider by default.
    public static let standard: [IDTokenType] = [.jwt, .absent]
    /// The types that are accepted of ZenKey's carriers by default.
    public static let zenKeyCarriers: [IDTokenType] = [.jwt, .absent, .accessToken]

    /// The type that a header has; nil for any other type.
    /// - Parameter type: The value of `typ`; nil if there is none.
    init?(_ type: JSONValue?) {
        guard let type else {
            self = .absent
            return
        }
        switch type.string?.lowercased() {
        case "jwt": self = .jwt
        case "at+jwt": self = .accessToken
        default: return nil
        }
    }
}

/// The kinds of JWT that are checked with a provider's keys. Each has its own rules, and none is accepted as another
/// (RFC 8725 section 3.11).
package enum TokenType: Sendable {
    /// `typ` is one of these.
    case marked([IDTokenType])
    /// `typ` is this, in lower case, or also absent.
    case named(String, orAbsent: Bool)
    /// `typ` is this, in lower case, with or without `application/` (RFC 7515 section 4.1.9); where `orStandard`, also
    /// `JWT` or absent.
    case media(String, orStandard: Bool)

    /// Older providers write `JWT` or none.
    static let logoutToken = TokenType.media("logout+jwt", orStandard: true)

    /// `typ` is absent or `JWT`: in userinfo responses, and in authorization responses, for which JARM names none.
    package static let standard = TokenType.marked(IDTokenType.standard)

    /// Whether a header's `typ` says that a token is of this kind.
    func isNamed(by header: TokenHeader) -> Bool {
        switch self {
        case .marked(let types): return header.type.map(types.contains) ?? false
        case .media(let name, let mayBeStandard):
            let type = header["typ"]?.string?.lowercased()
            return type == name || type == "application/" + name
                || mayBeStandard && (type == "jwt" || header["typ"] == nil)
        case .named(let name, let mayBeAbsent):
            let type = header["typ"]
            return type == nil ? mayBeAbsent : type?.string?.lowercased() == name
        }
    }

    /// The types that are accepted, for an explanation.
    var accepted: String {
        switch self {
        case .marked(let types): types.map(\.rawValue).joined(separator: ", ")
        case .media(let name, let mayBeStandard): mayBeStandard ? "\(name), JWT, absent" : name
        case .named(let name, let mayBeAbsent): mayBeAbsent ? "\(name), absent" : name
        }
    }
}

/// The header of a token and what it is checked against.
struct HeaderValidationContext {
    let header: TokenHeader
    let type: TokenType
    /// What the token may be signed with.
    let algorithms: Set<SigningAlgorithm>

    /// The rules for the header of a token of any kind, in the order in which it is refused by them.
    static let headerRules: [TokenRule<IDTokenCheck, Self>] = [
        // RFC 7515 section 4.1.11: crit lists extensions that must be understood, and none is supported. RFC 7797's
        // b64 changes what is signed.
        .init(.criticalHeader, { !$0.hasExtension }) { context in
            let extensions = Self.extensions.filter { context.header[$0] != nil }
            return extensions.isEmpty
                ? "neither crit nor b64 is present" : extensions.joined(separator: " and ") + " is present"
        },
        // RFC 8725 section 3.11: a token of another kind (logout+jwt, port_token+jwt) is not accepted as this one.
        .init(.type, { $0.type.isNamed(by: $0.header) }) { context in
            "typ is \(DisplayText.value(context.header["typ"])); accepted: \(context.type.accepted)"
        },
        .init(
            .algorithm, { $0.header.algorithm.map($0.algorithms.contains) ?? false },
            found: { "alg is \(DisplayText.value($0.header["alg"]))" }),
    ]

    private static let extensions = ["crit", "b64"]

    private var hasExtension: Bool { Self.extensions.contains { header[$0] != nil } }
}
