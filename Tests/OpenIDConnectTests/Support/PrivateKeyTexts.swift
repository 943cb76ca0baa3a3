import Crypto
import CryptoExtras
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Private keys in every form that operators use.
enum PrivateKeyTexts {
    static func pem(_ label: String, _ bytes: some Collection<UInt8>) -> String {
        let text = Array(Data(bytes).base64EncodedString())
        let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) }
        return "-----BEGIN \(label)-----\n" + lines.joined(separator: "\n") + "\n-----END \(label)-----\n"
    }

    /// As OpenSSL's `ecparam -genkey` writes it: a block with the curve's name, then the key (RFC 5915).
    static func sec1(_ key: P256.Signing.PrivateKey) -> String {
        let curve: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let start: [UInt8] = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20]
        let middle: [UInt8] = [0xA0, 0x0A] + curve + [0xA1, 0x44, 0x03, 0x42, 0x00]
        let bytes = start + Array(key.rawRepresentation) + middle + Array(key.publicKey.x963Representation)
        return pem("EC PARAMETERS", curve) + pem("EC PRIVATE KEY", bytes)
    }

    static func jwk(_ key: P256.Signing.PrivateKey) -> JSONDraft {
        let point = Array(key.publicKey.rawRepresentation)
        return [
            ("kty", "\"EC\""), ("crv", "\"P-256\""), ("x", quoted(point.prefix(32))), ("y", quoted(point.suffix(32))),
            ("d", quoted(Array(key.rawRepresentation))),
        ]
    }

    /// As OpenSSL's `genpkey` writes it (RFC 8410 section 10.3).
    static func pkcs8(_ key: Curve25519.Signing.PrivateKey, _ rest: [UInt8] = []) -> String {
        let start: [UInt8] = [0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70]
        return pem("PRIVATE KEY", start + [0x04, 0x22, 0x04, 0x20] + Array(key.rawRepresentation) + rest)
    }

    /// A key of version 2 (RFC 5958 section 2), with its public key.
    /// - Parameters:
    ///   - tag: What is before the public key.
    ///   - publicKey: By default the key's own.
    static func pkcs8v2(
        _ key: Curve25519.Signing.PrivateKey, attributes: [UInt8] = [], tag: [UInt8] = [0x81, 0x21, 0],
        publicKey: Curve25519.Signing.PublicKey? = nil
    ) -> String {
        let rest = attributes + tag + Array((publicKey ?? key.publicKey).rawRepresentation)
        let start: [UInt8] = [0x30, UInt8(46 + rest.count), 2, 1, 1, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
        return pem("PRIVATE KEY", start + Array(key.rawRepresentation) + rest)
    }

    static func jwk(_ key: Curve25519.Signing.PrivateKey) -> JSONDraft {
        [
            ("kty", "\"OKP\""), ("crv", "\"Ed25519\""), ("x", quoted(Array(key.publicKey.rawRepresentation))),
            ("d", quoted(Array(key.rawRepresentation))),
        ]
    }

    static func jwk(_ key: _RSA.Signing.PrivateKey) -> JSONDraft {
        let numbers = integers(inPKCS1: Array(key.derRepresentation))
        let names = ["n", "e", "d", "p", "q"]
        var draft: JSONDraft = [("kty", "\"RSA\"")]
        for (name, number) in zip(names, numbers.dropFirst()) { draft.add(name, quoted(number)) }
        return draft
    }

    private static func quoted(_ bytes: some Collection<UInt8>) -> String { "\"\(Base64URL.encode(bytes))\"" }

    /// The INTEGERs of an RSAPrivateKey (RFC 8017 appendix A.1.2): version, n, e, d, p, q and so on.
    private static func integers(inPKCS1 der: [UInt8]) -> [[UInt8]] {
        var rest = der[...]
        func length() -> Int {
            let first = Int(rest.removeFirst())
            guard first >= 0x80 else { return first }
            var length = 0
            for _ in 0..<(first & 0x7F) { length = length << 8 | Int(rest.removeFirst()) }
            return length
        }
        rest.removeFirst()
        _ = length()
        var integers: [[UInt8]] = []
        while !rest.isEmpty {
            rest.removeFirst()
            let count = length()
            integers.append(Array(rest.prefix(count).drop { $0 == 0 }))
            rest.removeFirst(count)
        }
        return integers
    }
}
