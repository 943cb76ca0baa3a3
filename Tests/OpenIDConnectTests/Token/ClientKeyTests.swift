import Crypto
import CryptoExtras
import Foundation
import OpenIDConnect
import Primitives
import TestSupport
import Testing

@Suite("Client keys")
struct ClientKeyTests {
    private static let p256 = P256.Signing.PrivateKey()
    private static let ed25519 = Curve25519.Signing.PrivateKey()
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
            (
                [
                    PrivateKeyTexts.pkcs8(Self.ed25519), PrivateKeyTexts.pkcs8v2(Self.ed25519),
                    PrivateKeyTexts.pkcs8v2(Self.ed25519, attributes: [0xA0, 2, 0x31, 0]),
                    PrivateKeyTexts.pkcs8v2(Self.ed25519, tag: [0xA1, 0x23, 3, 0x21, 0]),
                    PrivateKeyTexts.jwk(Self.ed25519).text,
                    PrivateKeyTexts.jwk(Self.ed25519).with("alg", "\"EdDSA\"").text,
                ], .edDSA
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

    @Test("An Ed25519 key of version 2 with another key's public half, or with something else after it, is refused")
    func otherPublicKey() {
        let other = Curve25519.Signing.PrivateKey().publicKey
        let texts = [
            PrivateKeyTexts.pkcs8v2(Self.ed25519, publicKey: other),
            PrivateKeyTexts.pkcs8v2(Self.ed25519, attributes: [0xA0, 3, 0x31, 0]),
            PrivateKeyTexts.pkcs8v2(Self.ed25519, attributes: [0x31, 0]),
        ]
        for text in texts { #expect(refusal(of: text) == .unsupported) }
    }

    @Test("A key signs with the usual algorithm of its type, that of its JSON Web Key, or the operator's")
    func algorithm() throws {
        let rsa = PrivateKeyTexts.jwk(try #require(Self.rsa))
        let (ec, octets) = (PrivateKeyTexts.jwk(Self.p256), PrivateKeyTexts.jwk(Self.ed25519))
        for (jwk, usual, fitting) in [
            (rsa, SigningAlgorithm.rs256, [.rs256, .ps256] as Set<SigningAlgorithm>), (ec, .es256, [.es256]),
            (octets, .edDSA, [.edDSA, .ed25519]),
        ] {
            let key = try ClientKey(parsing: Secret(jwk.text))
            #expect(key.algorithm == usual)
            for algorithm in SigningAlgorithm.allCases {
                let isFitting = fitting.contains(algorithm)
                let named = jwk.with("alg", "\"\(algorithm.rawValue)\"").text
                #expect(refusal(of: named) == (isFitting ? nil : .unsupported), "\(algorithm)")
                let other = key.signing(with: algorithm)
                #expect(other?.algorithm == (isFitting ? algorithm : nil))
                #expect(other?.named("k-1").algorithm == other?.algorithm)
                guard let other, isFitting else { continue }
                #expect(try ClientKey(parsing: Secret(named)) == other)
                #expect((other == key) == (algorithm == usual))
                #expect(other.keyID == key.keyID)
                try verify(other)
            }
        }
    }

    /// The signature of a JWT is valid for the published key, by another implementation.
    private func verify(_ key: ClientKey) throws {
        let token = try key.token(claims: Array("{}".utf8)).exposed
        let parts = token.split(separator: ".").map(String.init)
        let signed = Data("\(parts[0]).\(parts[1])".utf8)
        let signature = Data(try #require(Base64URL.decode(parts[2])))
        let header = try JSONValue(parsing: try #require(Base64URL.decode(parts[0]))).object
        #expect(header?["alg"]?.string == key.algorithm.rawValue)
        switch key.algorithm {
        case .rs256, .ps256:
            let padding: _RSA.Signing.Padding = key.algorithm == .ps256 ? .PSS : .insecurePKCS1v1_5
            let isValid = Self.rsa?.publicKey.isValidSignature(
                .init(rawRepresentation: signature), for: SHA256.hash(data: signed), padding: padding)
            #expect(isValid == true)
        case .es256:
            let proof = try P256.Signing.ECDSASignature(rawRepresentation: signature)
            #expect(Self.p256.publicKey.isValidSignature(proof, for: signed))
        default: #expect(Self.ed25519.publicKey.isValidSignature(signature, for: signed))
        }
    }

    @Test("The thumbprint of an Ed25519 key is that of the example of RFC 8037 appendix A.3")
    func octetThumbprint() throws {
        let jwk: JSONDraft = [
            ("kty", "\"OKP\""), ("crv", "\"Ed25519\""), ("d", "\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\""),
            ("x", "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""),
        ]
        #expect(try ClientKey(parsing: Secret(jwk.text)).keyID == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test("A JSON Web Key has its own id, which the operator's id overrides")
    func keyID() throws {
        let key = try ClientKey(parsing: Secret(PrivateKeyTexts.jwk(Self.p256).with("kid", "\"k-1\"").text))
        #expect(key.keyID == "k-1")
        #expect(key.named("k-2").keyID == "k-2")
        #expect(key.named("k-2") != key)
    }

    @Test("The algorithm that a JSON Web Key states is known until another one is chosen")
    func statedAlgorithm() throws {
        let jwk = PrivateKeyTexts.jwk(try #require(Self.rsa))
        let stating = try ClientKey(parsing: Secret(jwk.with("alg", "\"RS256\"").text))
        #expect(stating.statedAlgorithm == .rs256)
        #expect(stating.named("k-1").statedAlgorithm == .rs256)
        #expect(stating.signing(with: .ps256)?.statedAlgorithm == nil)
        #expect(try ClientKey(parsing: Secret(jwk.text)).statedAlgorithm == nil)
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
            (PrivateKeyTexts.jwk(Self.ed25519), ["crv", "kty", "x", "use", "alg", "kid"]),
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
        let small = try _RSA.Signing.PrivateKey(unsafePEMRepresentation: TLSTexts.weakKey)
        let other = P256.Signing.PrivateKey()
        let ec = PrivateKeyTexts.jwk(Self.p256)
        let jwk = PrivateKeyTexts.jwk(rsa)
        let octets = PrivateKeyTexts.jwk(Self.ed25519)
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
            ("an algorithm that is no text", jwk.with("alg", "256").text, .unsupported),
            ("Ed448", octets.with("crv", "\"Ed448\"").text, .unsupported),
            ("X25519", octets.with("crv", "\"X25519\"").text, .unsupported),
            ("another public key", octets.with("x", octets["d"]).text, .malformed),
            ("no public key", octets.with("x", nil).text, .malformed),
            ("a short key", octets.with("d", "\"AQ\"").text, .malformed),
            ("Ed25519, public", octets.with("d", nil).text, .notPrivate),
            ("Ed25519 with a byte more", PrivateKeyTexts.pkcs8(Self.ed25519, [0]), .unsupported),
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
