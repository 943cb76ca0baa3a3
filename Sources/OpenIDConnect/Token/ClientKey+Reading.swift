import Crypto
import CryptoExtras
public import Primitives

/// Why a text is not a private key that can sign. Does not repeat the text.
public enum ClientKeyError: String, Error, Sendable, Hashable, CaseIterable {
    case notAKey = "is neither PEM nor a JSON Web Key"
    case notPrivate = "contains a public key or a certificate, but no private key"
    case encrypted = "is encrypted with a passphrase; store it decrypted"
    case unsupported = "is not an RSA key of 2048 to 8192 bits, a P-256 or an Ed25519 key for signatures"
    case primesMissing = "is an RSA key without its primes p and q"
    case malformed = "contains numbers that do not make a valid key"

    /// The fault, as the rest of a sentence that begins with the key's name.
    public var reason: String { rawValue }
}

extension ClientKey {
    /// Reads a private key: PEM (PKCS #8, PKCS #1 or SEC 1) or one JSON Web Key (RFC 7517, RFC 7518 section 6, RFC 8037
    /// section 2), whose `kid` and `alg` are kept.
    ///
    /// - Throws: ``ClientKeyError``.
    public init(parsing text: Secret) throws(ClientKeyError) {
        let read = try PrivateKeyText(text, use: "sig")
        let key = ClientKey(read.material, keyID: read.keyID)
        guard let name = read.algorithm else {
            self = key
            return
        }
        guard let algorithm = name.string.flatMap({ SigningAlgorithm(rawValue: $0) }),
            let key = key.stating(algorithm)
        else { throw .unsupported }
        self = key
    }
}

/// A private key as administrators write it.
struct PrivateKeyText {
    typealias Material = ClientKey.Material

    let material: Material
    /// The `kid` and the `alg` of a JSON Web Key.
    var keyID: String?
    var algorithm: JSONValue?

    /// Reads PEM (PKCS #8, PKCS #1 or SEC 1) or one JSON Web Key.
    /// - Parameter use: What a JSON Web Key's `use` must be, if it has one.
    /// - Throws: ``ClientKeyError``.
    init(_ text: Secret, use: String) throws(ClientKeyError) {
        let text = text.exposed
        guard text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else {
            material = try Self.pem(text)
            return
        }
        guard let entry = (try? JSONValue(parsing: Array(text.utf8)))?.object, let kind = entry["kty"]?.string else {
            throw .notAKey
        }
        guard ["RSA", "EC", "OKP"].contains(kind) else { throw .unsupported }
        guard entry["d"] != nil else { throw .notPrivate }
        if let stated = entry["use"], stated.string != use { throw .unsupported }
        material =
            switch kind {
            case "RSA": try Self.rsa(entry)
            case "EC": try Self.p256(entry)
            default: try Self.ed25519(entry)
            }
        keyID = entry["kid"]?.string
        algorithm = entry["alg"]
    }

    private static func pem(_ text: String) throws(ClientKeyError) -> Material {
        let blocks = PEMBlock.all(in: text)
        guard let block = blocks.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
            throw blocks.isEmpty ? .notAKey : .notPrivate
        }
        guard !block.isEncrypted else { throw .encrypted }
        guard let bytes = block.bytes else { throw .malformed }
        if let key = try? P256.Signing.PrivateKey(derRepresentation: bytes) {
            return .p256(key)
        }
        if let key = ed25519(pkcs8: Array(bytes)) { return .ed25519(key) }
        guard let key = try? _RSA.Signing.PrivateKey(unsafeDERRepresentation: bytes), isAccepted(key) else {
            throw .unsupported
        }
        return .rsa(key)
    }

    private static func rsa(_ entry: JSONObject) throws(ClientKeyError) -> Material {
        guard entry["p"] != nil, entry["q"] != nil else { throw .primesMissing }
        guard let n = number(entry["n"]), let e = number(entry["e"]), let d = number(entry["d"]),
            let p = number(entry["p"]), let q = number(entry["q"])
        else { throw .malformed }
        guard n.count >= 256, n.count <= 1024 else { throw .unsupported }
        // The properties of primes (RFC 8017 section 3.2) that the arithmetic of the initialiser relies on.
        guard e.count <= 8, d.count <= n.count, isLikePrime(p), isLikePrime(q) else { throw .malformed }
        guard let key = try? _RSA.Signing.PrivateKey(n: n, e: e, d: d, p: p, q: q) else { throw .malformed }
        guard isAccepted(key) else { throw .unsupported }
        return .rsa(key)
    }

    private static func p256(_ entry: JSONObject) throws(ClientKeyError) -> Material {
        guard entry["crv"]?.string == "P-256" else { throw .unsupported }
        guard let d = entry["d"]?.string.flatMap(Base64URL.decode), d.count == 32,
            let key = try? P256.Signing.PrivateKey(rawRepresentation: d),
            let x = entry["x"]?.string.flatMap(Base64URL.decode), let y = entry["y"]?.string.flatMap(Base64URL.decode),
            x + y == Array(key.publicKey.rawRepresentation)
        else { throw .malformed }
        return .p256(key)
    }

    /// RFC 8037 section 2.
    private static func ed25519(_ entry: JSONObject) throws(ClientKeyError) -> Material {
        guard entry["crv"]?.string == "Ed25519" else { throw .unsupported }
        guard let d = entry["d"]?.string.flatMap(Base64URL.decode), d.count == 32,
            let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: d),
            entry["x"]?.string.flatMap(Base64URL.decode) == Array(key.publicKey.rawRepresentation)
        else { throw .malformed }
        return .ed25519(key)
    }

    /// The key of an OneAsymmetricKey (RFC 8410 section 7, RFC 5958 section 2): of version 1, as OpenSSL writes it, or
    /// of version 2, with attributes and the public key after it. The public key must be the private key's.
    private static func ed25519(pkcs8 bytes: [UInt8]) -> Curve25519.Signing.PrivateKey? {
        // SEQUENCE, length, version, the algorithm 1.3.101.112, and the key in an OCTET STRING within another one.
        guard bytes.count >= 48, bytes[0] == 0x30, bytes[1] < 0x80, Int(bytes[1]) == bytes.count - 2,
            bytes[2...3] == [2, 1], bytes[4] <= 1,
            bytes[5..<16] == [0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20],
            let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes[16..<48])
        else { return nil }
        let rest = bytes[48...]
        guard bytes[4] == 1 else { return rest.isEmpty ? key : nil }
        // The public key is last: [1] IMPLICIT BIT STRING without unused bits; some programs write it explicitly.
        // Attributes, [0], may be before it.
        for tag in [[0xA1, 0x23, 3, 0x21, 0], [0x81, 0x21, 0]] as [[UInt8]] {
            let publicKey = tag + key.publicKey.rawRepresentation
            guard rest.suffix(publicKey.count).elementsEqual(publicKey) else { continue }
            return isAttributes(rest.dropLast(publicKey.count)) ? key : nil
        }
        return isAttributes(rest) ? key : nil
    }

    /// Whether the bytes are nothing, or one element with the tag `[0]`, of fewer than 128 bytes.
    private static func isAttributes(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let tag = bytes.first else { return true }
        guard tag == 0xA0, let length = bytes.dropFirst().first else { return false }
        return length < 0x80 && Int(length) == bytes.count - 2
    }

    private static func isLikePrime(_ number: [UInt8]) -> Bool {
        (64...768).contains(number.count) && (number.last ?? 0) & 1 == 1
    }

    private static func isAccepted(_ key: _RSA.Signing.PrivateKey) -> Bool {
        (2048...8192).contains(key.keySizeInBits)
    }

    /// A Base64urlUInt without leading zeros; nil if it is not one, or is zero.
    private static func number(_ value: JSONValue?) -> [UInt8]? {
        guard let bytes = value?.string.flatMap(Base64URL.decode) else { return nil }
        let significant = bytes.drop { $0 == 0 }
        return significant.isEmpty ? nil : Array(significant)
    }
}
