import Crypto
import CryptoExtras
import Foundation
import OpenIDConnect
import Primitives
import Testing

@Suite("Client keys")
struct ClientKeyTests {
    private static let p256 = P256.Signing.PrivateKey()
    private static let rsa: _RSA.Signing.PrivateKey? = {
        guard case .rsa(let key) = TestKey.rsa1.pair else { return nil }
        return key
    }()

    private func refusal(of text: String) -> ClientKeyError? {
        do throws(ClientKeyError) {
            _ = try ClientKey(parsing: Secret(text))
            return nil
        } catch {
            return error
        }
    }

    @Test("Every usual form of one key is the same key")
    func forms() throws {
        let rsa = try #require(Self.rsa)
        let pkcs1 = rsa.pemRepresentation
        #expect(pkcs1.hasPrefix("-----BEGIN RSA PRIVATE KEY-----"))
        for (texts, algorithm) in [
            (
                [
                    pkcs1, rsa.pkcs8PEMRepresentation, PrivateKeyTexts.jwk(rsa).text,
                    pkcs1.replacing("\n", with: "\r\n"), "Bag Attributes\n  x: y\n" + pkcs1 + "\ntrailing",
                    " \n" + PrivateKeyTexts.jwk(rsa).with("alg", "\"RS256\"").with("use", "\"sig\"").text,
                ], SigningAlgorithm.rs256
            ),
            (
                [
                    Self.p256.pemRepresentation, PrivateKeyTexts.sec1(Self.p256), PrivateKeyTexts.jwk(Self.p256).text,
                    PrivateKeyTexts.jwk(Self.p256).with("alg", "\"ES256\"").text,
                ], .es256
            ),
        ] {
            let keys = try texts.map { try ClientKey(parsing: Secret($0)) }
            for key in keys {
                #expect(key == keys[0])
                #expect(key.algorithm == algorithm)
                #expect(key.keyID == keys[0].keyID, "the thumbprint is of the numbers, and not of their form")
            }
        }
    }

    @Test("A JSON Web Key has its own id, which the operator's id overrides")
    func keyID() throws {
        let key = try ClientKey(parsing: Secret(PrivateKeyTexts.jwk(Self.p256).with("kid", "\"k-1\"").text))
        #expect(key.keyID == "k-1")
        #expect(key.named("k-2").keyID == "k-2")
        #expect(key.named("k-2") != key)
    }

    @Test("Without an id of its own, a key has its thumbprint, as the example of RFC 7638 section 3.1 computes it")
    func thumbprint() throws {
        for (jwk, members) in [
            (PrivateKeyTexts.jwk(try #require(Self.rsa)), ["e", "kty", "n"]),
            (PrivateKeyTexts.jwk(Self.p256), ["crv", "kty", "x", "y"]),
        ] {
            let key = try ClientKey(parsing: Secret(jwk.text))
            let text = "{" + members.map { "\"\($0)\":\(jwk[$0] ?? "")" }.joined(separator: ",") + "}"
            #expect(key.keyID == Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)))))
        }
    }

    @Test("A published key has its public numbers, use, alg and kid, and no other member")
    func published() throws {
        for (jwk, members) in [
            (PrivateKeyTexts.jwk(try #require(Self.rsa)), ["e", "kty", "n", "use", "alg", "kid"]),
            (PrivateKeyTexts.jwk(Self.p256), ["crv", "kty", "x", "y", "use", "alg", "kid"]),
        ] {
            let key = try ClientKey(parsing: Secret(jwk.text)).named("k-1")
            var json = JSONObjectWriter()
            key.writePublicKey(to: &json)
            let object = try #require(try JSONValue(parsing: json.finish()).object)
            #expect(object.members.map(\.name) == members, "no private number")
            #expect(object["use"]?.string == "sig")
            #expect(object["alg"]?.string == key.algorithm.rawValue)
            #expect(object["kid"]?.string == "k-1")
            for name in members.prefix(members.count - 3) { #expect("\"\(object[name]?.string ?? "")\"" == jwk[name]) }
        }
    }

    @Test("A text that is not a signing key is refused with the reason")
    func refused() throws {
        let rsa = try #require(Self.rsa)
        let small = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))
        let other = P256.Signing.PrivateKey()
        let ec = PrivateKeyTexts.jwk(Self.p256)
        let jwk = PrivateKeyTexts.jwk(rsa)
        let rows: [(String, String, ClientKeyError)] = [
            ("nothing", "", .notAKey), ("a word", "secret", .notAKey), ("an empty object", "{}", .notAKey),
            ("an array", "[\(ec.text)]", .notAKey), ("half an object", String(ec.text.dropLast()), .notAKey),
            ("a block without end", "-----BEGIN PRIVATE KEY-----\nAAAA\n", .notAKey),
            ("a public key", Self.p256.publicKey.pemRepresentation, .notPrivate),
            ("a certificate", PrivateKeyTexts.pem("CERTIFICATE", [0x30, 0x00]), .notPrivate),
            ("a public JWK", ec.with("d", nil).text, .notPrivate),
            ("a pass phrase", PrivateKeyTexts.pem("ENCRYPTED PRIVATE KEY", [0x30, 0x00]), .encrypted),
            (
                "a pass phrase of old",
                rsa.pemRepresentation.replacing(
                    "KEY-----\n", with: "KEY-----\nProc-Type: 4,ENCRYPTED\n", maxReplacements: 1),
                .encrypted
            ),
            ("no base64", "-----BEGIN PRIVATE KEY-----\n***\n-----END PRIVATE KEY-----\n", .malformed),
            ("no key in it", PrivateKeyTexts.pem("PRIVATE KEY", [0x30, 0x00]), .unsupported),
            ("1024 bits", small.pemRepresentation, .unsupported),
            ("1024 bits in JSON", PrivateKeyTexts.jwk(small).text, .unsupported),
            ("P-384", P384.Signing.PrivateKey().pemRepresentation, .unsupported),
            ("another curve in JSON", ec.with("crv", "\"P-384\"").text, .unsupported),
            ("another kind", ec.with("kty", "\"oct\"").text, .unsupported),
            ("an encryption key", ec.with("use", "\"enc\"").text, .unsupported),
            ("another algorithm", jwk.with("alg", "\"PS256\"").text, .unsupported),
            ("no primes", jwk.with("p", nil).text, .primesMissing),
            ("a prime that is null", jwk.with("q", "null").text, .malformed),
            ("a prime of zero", jwk.with("p", "\"AA\"").text, .malformed),
            ("a prime of one", jwk.with("q", "\"AQ\"").text, .malformed),
            ("twice the same prime", jwk.with("p", jwk["q"]).text, .malformed),
            ("no private exponent", jwk.with("d", "\"AA\"").text, .malformed),
            ("another point", ec.with("x", PrivateKeyTexts.jwk(other)["x"]).text, .malformed),
            (
                "a point of zeros", ec.with("d", "\"\(Base64URL.encode([UInt8](repeating: 0, count: 32)))\"").text,
                .malformed
            ),
            ("a short scalar", ec.with("d", "\"AQ\"").text, .malformed),
        ]
        for (title, text, error) in rows { #expect(refusal(of: text) == error, "\(title)") }
    }

    @Test("A key's content is not printed")
    func redacted() throws {
        let key = try ClientKey(parsing: Secret(PrivateKeyTexts.jwk(Self.p256).with("kid", "\"VISIBLE\"").text))
        var dumped = ""
        dump(ClientAuthentication.privateKeyJWT(key), to: &dumped)
        #expect(!(dumped + "\(key)" + String(reflecting: key)).contains("VISIBLE"))
        #expect("\(key)" == "‹redacted›")
    }
}
