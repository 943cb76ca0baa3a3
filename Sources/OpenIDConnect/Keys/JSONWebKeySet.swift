import Crypto
import CryptoExtras
package import Primitives

/// A provider's signing keys (RFC 7517 section 5), ready to verify with.
package struct JSONWebKeySet: Sendable {
    /// Larger sets are refused. No provider signs with so many keys.
    static let maximumKeys = 100
    /// How many keys with the same key id are tried for one token.
    static let maximumCandidates = 4

    let keys: [PublicKey]

    package var count: Int { keys.count }

    /// The keys, at most so many: first those with a key id, in their order.
    package func keys(named keyID: String?, limit: Int) -> [PublicKey] {
        let named = keys.filter { $0.keyID == keyID }
        let others = keys.filter { $0.keyID != keyID }
        return Array((named.prefix(limit / 2) + others).prefix(limit))
    }

    /// Whether a key verifies the signature of a token in compact form; nil if the token has none of a known kind.
    package func verifies(_ token: Secret, maximumBytes: Int) -> Bool? {
        guard let token = CompactToken(token, maximumBytes: maximumBytes).flatMap({ SignedToken($0) }) else {
            return nil
        }
        return SignatureValidationContext(token, keys: self).verifies
    }

    /// Reads a key set. Entries that cannot be used are ignored (RFC 7517 section 5), so the set may have no key. Nil
    /// if it is not a key set, or has too many entries, or none.
    package init?(parsing body: [UInt8]) { self.init(try? JSONValue(parsing: body)) }

    /// As ``init(parsing:)``.
    init?(_ value: JSONValue?) {
        guard let entries = Self.entries(of: value) else { return nil }
        keys = entries.compactMap { entry in entry.object.flatMap { try? PublicKey($0) } }
    }

    private init(_ keys: [PublicKey]) { self.keys = keys }

    /// The keys that may have signed a token of a provider for several tenants. Microsoft's keys have `issuer`, with
    /// the placeholder if they are for all tenants; a key for one tenant must not sign for another.
    func keys(of tenants: TenantIssuers?, for token: SignedToken) -> JSONWebKeySet {
        guard tenants != nil else { return self }
        let issuer = JSONObject(claims: token.payload)?["iss"]?.string ?? ""
        return JSONWebKeySet(
            keys.filter { key in
                guard let own = key.issuer else { return true }
                return TenantIssuers(own).map { $0.tenant(of: issuer) != nil } ?? own.hasSameBytes(as: issuer)
            })
    }

    /// The entries of a key set, 1 to ``maximumKeys``.
    package static func entries(of body: [UInt8]) -> [JSONValue]? { entries(of: ProviderResponse.lenientJSON(body)) }

    private static func entries(of value: JSONValue?) -> [JSONValue]? {
        guard let entries = value?.object?["keys"]?.array, (1...maximumKeys).contains(entries.count) else {
            return nil
        }
        return entries
    }

    /// The keys that may have signed a token: those with its key id if it names one, else the only key for its
    /// algorithm.
    func candidates(for token: SignedToken) -> [PublicKey] {
        var candidates: [PublicKey] = []
        for key in keys where key.algorithms.contains(token.algorithm) {
            if let keyID = token.keyID {
                guard let named = key.keyID, named.hasSameBytes(as: keyID) else { continue }
                if candidates.count == Self.maximumCandidates { break }
            }
            candidates.append(key)
        }
        return token.keyID == nil && candidates.count > 1 ? [] : candidates
    }

    /// `«k1» (RS256), one without kid (ES256)`
    var summary: String {
        let shown = keys.prefix(8).map { key in
            let name = key.keyID.map { "«\(DisplayText.line($0))»" } ?? "one without kid"
            return "\(name) (\(key.algorithms.map(\.rawValue).joined(separator: " or ")))"
        }
        let rest = keys.count > shown.count ? ", … (\(keys.count) in all)" : ""
        return shown.isEmpty ? "none" : shown.joined(separator: ", ") + rest
    }
}

extension JSONObject {
    /// A member that is not null, as some providers write what a key does not have.
    fileprivate func stated(_ name: String) -> JSONValue? { self[name].flatMap { $0.isNull ? nil : $0 } }
}

package struct SignatureValidationContext {
    let token: SignedToken
    let keys: JSONWebKeySet
    package let candidates: [PublicKey]

    package init(_ token: SignedToken, keys: JSONWebKeySet) {
        self.token = token
        self.keys = keys
        candidates = keys.candidates(for: token)
    }

    package var verifies: Bool {
        candidates.contains { $0.verifies(token.signature, of: token.signed, by: token.algorithm) }
    }

    /// The rules for the signature of a token, in the order in which it is refused by them.
    static let signatureRules: [TokenRule<IDTokenCheck, Self>] = [
        .init(.key, { !$0.candidates.isEmpty }) { context in
            let named = context.token.keyID.map { "kid is «\(DisplayText.line($0))»" } ?? "the token has no kid"
            return "\(named); the provider's usable keys: \(context.keys.summary)"
        },
        .init(.signature, { $0.verifies }) { context in
            let size = "\(context.token.signature.count) bytes by \(context.token.algorithm.rawValue)"
            return "\(size), checked with \(context.candidates.count) of the keys"
        },
    ]
}

/// A public key that verifies signatures, read from a JSON Web Key (RFC 7517, RFC 7518 section 6).
package struct PublicKey: Sendable {
    package enum KeyError: String, Error, Sendable, Hashable {
        /// Its `use` or `key_ops` does not allow verifying.
        case purpose
        /// Its `kty` or `crv` is not supported.
        case kind
        /// Its `alg` does not fit its `kty`.
        case algorithm
        /// Its `kid` is not a text.
        case keyID = "key_id"
        /// Its RSA modulus has fewer than 2048 or more than 8192 bits.
        case size
        /// Its numbers do not make a valid key.
        case numbers
    }

    private enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey, modulusBytes: Int)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case p521(P521.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    package let keyID: String?
    /// The algorithms that fit the key's type, or only its `alg` if it has one.
    package let algorithms: [SigningAlgorithm]
    /// For which issuer it signs, if its provider says so.
    let issuer: String?
    private let material: Material

    /// - Throws: Why the entry is not a supported key for signatures.
    package init(_ entry: JSONObject) throws(KeyError) {
        guard Self.isForVerifying(entry) else { throw .purpose }
        material = try Self.material(of: entry)
        algorithms = try Self.algorithms(of: material, named: entry.stated("alg"))
        let id = entry.stated("kid")
        keyID = id?.string
        guard keyID != nil || id == nil else { throw .keyID }
        issuer = entry["issuer"]?.string
    }

    /// The size of the modulus, or of the curve.
    package var bits: Int {
        switch material {
        case .rsa(let key, _): key.keySizeInBits
        case .p256, .ed25519: 256
        case .p384: 384
        case .p521: 521
        }
    }

    /// Whether a signature by an algorithm verifies. False for an algorithm that is not the key's.
    func verifies(_ signature: [UInt8], of signed: SignedContent, by algorithm: SigningAlgorithm) -> Bool {
        guard algorithms.contains(algorithm) else { return false }
        switch (material, signed) {
        // RFC 8017 section 8.2.2: a signature is as long as the modulus.
        case (.rsa(_, let modulusBytes), _) where signature.count != modulusBytes: return false
        case (.rsa(let key, _), .sha256(let digest)):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: algorithm.padding)
        case (.rsa(let key, _), .sha384(let digest)):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: algorithm.padding)
        case (.rsa(let key, _), .sha512(let digest)):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: algorithm.padding)
        case (.p256(let key), .sha256(let digest)):
            return (try? key.isValidSignature(.init(rawRepresentation: signature), for: digest)) ?? false
        case (.p384(let key), .sha384(let digest)):
            return (try? key.isValidSignature(.init(rawRepresentation: signature), for: digest)) ?? false
        case (.p521(let key), .sha512(let digest)):
            return (try? key.isValidSignature(.init(rawRepresentation: signature), for: digest)) ?? false
        case (.ed25519(let key), .whole(let content)):
            return key.isValidSignature(signature, for: content)
        default: return false
        }
    }

    /// Whether `use` and `key_ops`, if there are any, allow verifying (RFC 7517 sections 4.2 and 4.3).
    private static func isForVerifying(_ entry: JSONObject) -> Bool {
        if let use = entry.stated("use"), use.string != "sig" { return false }
        guard let operations = entry.stated("key_ops") else { return true }
        return operations.array?.contains(.string("verify")) == true
    }

    private static func material(of entry: JSONObject) throws(KeyError) -> Material {
        switch (entry["kty"]?.string, entry["crv"]?.string) {
        case ("RSA", _): try rsa(entry)
        case ("EC", "P-256"): .p256(try numbers { try .init(rawRepresentation: try point(entry, bytes: 32)) })
        case ("EC", "P-384"): .p384(try numbers { try .init(rawRepresentation: try point(entry, bytes: 48)) })
        case ("EC", "P-521"): .p521(try numbers { try .init(rawRepresentation: try point(entry, bytes: 66)) })
        case ("OKP", "Ed25519"): .ed25519(try numbers { try .init(rawRepresentation: try coordinate(entry["x"], 32)) })
        default: throw .kind
        }
    }

    private static func algorithms(
        of material: Material, named name: JSONValue?
    ) throws(KeyError) -> [SigningAlgorithm] {
        let fitting: [SigningAlgorithm] =
            switch material {
            case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
            case .p256: [.es256]
            case .p384: [.es384]
            case .p521: [.es512]
            case .ed25519: [.edDSA, .ed25519]
            }
        guard let name else { return fitting }
        guard let named = name.string.flatMap(SigningAlgorithm.init(rawValue:)), fitting.contains(named) else {
            throw .algorithm
        }
        // Both names are of the same algorithm.
        if case .ed25519 = material { return fitting }
        return [named]
    }

    /// 2048 to 8192 bits (RFC 7518 section 3.3; the upper bound limits the cost of a signature), an odd modulus, and an
    /// odd exponent of 65537 or more in at most 32 bits.
    private static func rsa(_ entry: JSONObject) throws(KeyError) -> Material {
        guard let modulus = integer(entry["n"], maximumBytes: 1024), modulus.count >= 256 else { throw .size }
        guard let last = modulus.last, last & 1 == 1, let exponentBytes = integer(entry["e"], maximumBytes: 4) else {
            throw .numbers
        }
        let exponent = exponentBytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard exponent >= 65537, exponent & 1 == 1, let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponentBytes)
        else { throw .numbers }
        guard key.keySizeInBits >= 2048 else { throw .size }
        return .rsa(key, modulusBytes: modulus.count)
    }

    /// A point, each coordinate in exactly so many bytes (RFC 7518 section 6.2.1.2). The initializer of the key checks
    /// that the point is on the curve.
    private static func point(_ entry: JSONObject, bytes: Int) throws(KeyError) -> [UInt8] {
        try coordinate(entry["x"], bytes) + coordinate(entry["y"], bytes)
    }

    private static func coordinate(_ value: JSONValue?, _ count: Int) throws(KeyError) -> [UInt8] {
        guard let bytes = bytes(value, maximum: count), bytes.count == count else { throw .numbers }
        return bytes
    }

    /// A key that is made of numbers which may not fit together.
    private static func numbers<Key>(_ make: () throws -> Key) throws(KeyError) -> Key {
        guard let key = try? make() else { throw .numbers }
        return key
    }

    /// A Base64urlUInt without leading zeros. RFC 7518 section 2 forbids them, but some encoders write them.
    private static func integer(_ value: JSONValue?, maximumBytes: Int) -> [UInt8]? {
        guard let bytes = bytes(value, maximum: maximumBytes + 1) else { return nil }
        let significant = bytes.drop { $0 == 0 }
        return significant.count <= maximumBytes ? Array(significant) : nil
    }

    private static func bytes(_ value: JSONValue?, maximum: Int) -> [UInt8]? {
        guard let text = value?.string, text.utf8.count <= maximum * 4 / 3 + 2 else { return nil }
        return Base64URL.decode(text)
    }
}

/// A signature algorithm of public keys (RFC 7518 section 3.1, RFC 8037 section 3.1, RFC 9864). HMAC, whose key both
/// sides know, and `none` are not among them.
public enum SigningAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    case rs384 = "RS384"
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    case rs512 = "RS512"
    /// RSASSA-PSS with SHA-256.
    case ps256 = "PS256"
    /// RSASSA-PSS with SHA-384.
    case ps384 = "PS384"
    /// RSASSA-PSS with SHA-512.
    case ps512 = "PS512"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// ECDSA with P-384 and SHA-384.
    case es384 = "ES384"
    /// ECDSA with P-521 and SHA-512.
    case es512 = "ES512"
    /// Ed25519 under its first name, which it shares with Ed448.
    case edDSA = "EdDSA"
    /// Ed25519 under its own name.
    case ed25519 = "Ed25519"

    /// What providers may sign with if a client's registration names no algorithm.
    public static let standard: Set<SigningAlgorithm> = [.rs256, .es256]

    /// The hash of a text that `at_hash` is made with (OpenID Connect Core section 3.1.3.6): by the hash function that
    /// a token's signature uses.
    func hash(of text: Secret) -> [UInt8] {
        text.exposed.withBytes { text in
            let bytes = UnsafeRawBufferPointer(text)
            return switch self {
            case .rs256, .ps256, .es256: Array(SHA256.hash(data: bytes))
            case .rs384, .ps384, .es384: Array(SHA384.hash(data: bytes))
            // Ed25519 hashes with SHA-512 by itself (RFC 8032 section 5.1).
            case .rs512, .ps512, .es512, .edDSA, .ed25519: Array(SHA512.hash(data: bytes))
            }
        }
    }

    var padding: _RSA.Signing.Padding {
        switch self {
        case .ps256, .ps384, .ps512: .PSS
        default: .insecurePKCS1v1_5
        }
    }
}

/// What a signature was made of, as far as its algorithm needs it.
enum SignedContent: Sendable, Hashable {
    case sha256(SHA256.Digest)
    case sha384(SHA384.Digest)
    case sha512(SHA512.Digest)
    /// The content itself: Ed25519 reads it twice, so that a hash would not do.
    case whole([UInt8])

    init(_ content: UnsafeRawBufferPointer, signedBy algorithm: SigningAlgorithm) {
        switch algorithm {
        case .rs256, .ps256, .es256: self = .sha256(SHA256.hash(data: content))
        case .rs384, .ps384, .es384: self = .sha384(SHA384.hash(data: content))
        case .rs512, .ps512, .es512: self = .sha512(SHA512.hash(data: content))
        case .edDSA, .ed25519: self = .whole(Array(content))
        }
    }
}
