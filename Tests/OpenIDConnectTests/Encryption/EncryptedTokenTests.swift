import Crypto
import CryptoExtras
import Foundation
import OpenIDConnect
import Primitives
import Testing

/// Encrypted ID tokens (RFC 7516), as a client opens them.
@Suite("Encrypted tokens")
struct EncryptedTokenTests {
    typealias Draft = EncryptedTokenDraft

    /// The largest token that is read.
    private static let limit = 16 * 1024

    /// The signed token in an encrypted one; nil if it is refused.
    private func opened(
        _ text: String, _ key: DecryptionKey, _ encryption: ContentEncryption, other: DecryptionKey? = nil
    ) throws -> String? {
        ResponseDecryption(key: key, otherKey: other, encryption: encryption).content(
            of: Secret(text), maximumBytes: Self.limit)?.exposed
    }

    @Test("A token for the client's key is opened, with each algorithm", arguments: ContentEncryption.allCases)
    func good(_ encryption: ContentEncryption) throws {
        #expect(try opened(Draft.rsa(encryption).text, Draft.rsaKey(), encryption) == "e30.e30.c2ln")
        #expect(try opened(Draft.ec(encryption).text, Draft.ecKey(), encryption) == "e30.e30.c2ln")
        for (apu, apv) in [
            ([], []), (Array("Alice".utf8), Array("Bob".utf8)), ([UInt8](repeating: 1, count: 256), [0]),
        ] {
            let text = try Draft.ec(encryption, apu: apu, apv: apv).text
            #expect(try opened(text, Draft.ecKey(), encryption) == "e30.e30.c2ln")
        }
    }

    @Test("A token of the largest size is opened, and no longer one")
    func size() throws {
        let text = try Draft.rsa(.a128GCM).text
        let decryption = ResponseDecryption(key: try Draft.rsaKey(), otherKey: nil, encryption: .a128GCM)
        for (excess, isOpened) in [(0, true), (1, false)] {
            let content = decryption.content(of: Secret(text), maximumBytes: text.utf8.count - excess)
            #expect((content?.exposed == "e30.e30.c2ln") == isOpened)
        }
    }

    @Test("A party that is longer than any name is refused")
    func longParty() throws {
        let party = [UInt8](repeating: 1, count: 257)
        for draft in [try Draft.ec(apu: party), try Draft.ec(apv: party)] {
            #expect(try opened(draft.text, Draft.ecKey(), .a128GCM) == nil)
        }
    }

    @Test("The agreed key is that of the example of RFC 7518 appendix C")
    func example() throws {
        let bob = #"""
            {"kty":"EC","crv":"P-256","x":"weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
            "y":"e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck","d":"VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"}
            """#
        let epk = #"""
            {"kty":"EC","crv":"P-256","x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0",
            "y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps"}
            """#
        var draft = Draft(header: [
            ("alg", "\"ECDH-ES\""), ("enc", "\"A128GCM\""), ("apu", "\"QWxpY2U\""), ("apv", "\"Qm9i\""), ("epk", epk),
        ])
        draft.key = SymmetricKey(data: try #require(Base64URL.decode("VqqN6vgjbSBcIijNcacQGg")))
        #expect(try opened(draft.text, DecryptionKey(parsing: Secret(bob)), .a128GCM) == "e30.e30.c2ln")
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout Draft) throws -> Void

        init(_ name: String, _ change: @escaping @Sendable (inout Draft) throws -> Void) {
            testDescription = name
            self.change = change
        }

        static func part(_ name: String, _ number: Int, _ change: @escaping @Sendable (String) -> String) -> Row {
            Row(name) { $0.change = { $0[number] = change($0[number]) } }
        }
    }

    /// Another first byte.
    private static func flipped(_ part: String) -> String {
        var bytes = Base64URL.decode(part) ?? []
        if !bytes.isEmpty { bytes[0] ^= 1 }
        return Base64URL.encode(bytes)
    }

    private static let common: [Row] = [
        .part("another content", 3) { flipped($0) }, .part("another tag", 4) { flipped($0) },
        .part("another nonce", 2) { flipped($0) }, .part("a short tag", 4) { String($0.prefix(16)) },
        .part("a nonce of 16 bytes", 2) { _ in String(repeating: "A", count: 22) },
        .part("no content", 3) { _ in "" }, .part("no tag", 4) { _ in "" }, .part("no nonce", 2) { _ in "" },
        .part("content that is no base64url", 3) { $0 + "=" },
        .part("an encrypted key that is no base64url", 1) { _ in "*" },
        .part("no header", 0) { _ in "" }, .part("a header that is no object", 0) { _ in "W10" },
        Row("four parts") { $0.change = { $0.removeLast() } }, Row("six parts") { $0.change = { $0.append("AA") } },
        Row("a header that was changed") {
            $0.change = { $0[0] = Base64URL.encode((Base64URL.decode($0[0]) ?? []) + [0x20]) }
        },
        Row("compression") { $0.header.add("zip", "\"DEF\"") }, Row("crit") { $0.header.add("crit", "[\"x\"]") },
        Row("an empty crit") { $0.header.add("crit", "[]") },
        Row("a kid that is no text") { $0.header.add("kid", "7") },
        Row("two enc") { $0.header.add("enc", "\"A128GCM\"") },
        Row("CBC") { $0.header = $0.header.with("enc", "\"A128CBC-HS256\"") },
        Row("A192GCM") { $0.header = $0.header.with("enc", "\"A192GCM\"") },
        Row("no enc") { $0.header = $0.header.with("enc", nil) },
        Row("RSA1_5") { $0.header = $0.header.with("alg", "\"RSA1_5\"") },
        Row("RSA-OAEP") { $0.header = $0.header.with("alg", "\"RSA-OAEP\"") },
        Row("dir") { $0.header = $0.header.with("alg", "\"dir\"") },
        Row("A128KW") { $0.header = $0.header.with("alg", "\"A128KW\"") },
        Row("ECDH-ES+A128KW") { $0.header = $0.header.with("alg", "\"ECDH-ES+A128KW\"") },
        Row("PBES2") { $0.header = $0.header.with("alg", "\"PBES2-HS256+A128KW\"") },
        Row("none") { $0.header = $0.header.with("alg", "\"none\"") },
        Row("no alg") { $0.header = $0.header.with("alg", nil) },
        Row("another key of the content") { $0.key = SymmetricKey(size: .bits128) },
        Row("content that is no text") { $0.content = [0xFF, 0xFE] },
        Row("too large") { $0.content = [UInt8](repeating: 0x41, count: 16 * 1024) },
    ]

    @Test(
        "A token for an RSA key that is not exactly right is refused",
        arguments: common + [
            .part("another encrypted key", 1) { flipped($0) }, .part("no encrypted key", 1) { _ in "" },
            .part("a short encrypted key", 1) { String($0.prefix(300)) },
            Row("PKCS #1 v1.5") {
                $0.encryptedKey = try Draft.encrypted(
                    $0.key.withUnsafeBytes { Array($0) }, ._WEAK_AND_INSECURE_PKCS_V1_5)
            },
            Row("OAEP with SHA-1") {
                $0.encryptedKey = try Draft.encrypted($0.key.withUnsafeBytes { Array($0) }, .PKCS1_OAEP)
            },
            Row("a content key of 128 bits for A256GCM") {
                $0.key = SymmetricKey(size: .bits128)
                $0.encryptedKey = try Draft.encrypted($0.key.withUnsafeBytes { Array($0) })
            },
            Row("ECDH-ES") { $0.header = $0.header.with("alg", "\"ECDH-ES\"") },
        ])
    func rsa(row: Row) throws {
        var draft = try Draft.rsa()
        try row.change(&draft)
        #expect(try opened(draft.text, Draft.rsaKey(), .a256GCM) == nil)
    }

    private static func epk(_ name: String, _ value: String?) -> Row {
        Row("epk with \(name) \(value ?? "left out")") { draft in
            let point = Array(P256.KeyAgreement.PrivateKey().publicKey.rawRepresentation)
            let key: JSONDraft = [
                ("kty", "\"EC\""), ("crv", "\"P-256\""), ("x", Draft.quoted(point.prefix(32))),
                ("y", Draft.quoted(point.suffix(32))),
            ]
            draft.header = draft.header.with("epk", key.with(name, value).text)
        }
    }

    @Test(
        "A token for a P-256 key that is not exactly right is refused",
        arguments: common + [
            .part("an encrypted key", 1) { _ in "AAAA" },
            Row("no epk") { $0.header = $0.header.with("epk", nil) },
            Row("an epk that is no object") { $0.header = $0.header.with("epk", "\"x\"") },
            epk("kty", "\"RSA\""), epk("crv", "\"P-384\""), epk("x", nil), epk("y", nil), epk("x", "\"AAAA\""),
            epk("y", "\"\(Base64URL.encode([UInt8](repeating: 1, count: 32)))\""), epk("d", "\"AAAA\""),
            epk("x", "\"\(Base64URL.encode([UInt8](repeating: 0, count: 32)))\""),
            Row("another party") { $0.header.add("apu", "\"QWxpY2U\"") },
            Row("a party of 257 bytes") { $0.header.add("apv", Draft.quoted([UInt8](repeating: 0, count: 257))) },
            Row("a party that is no text") { $0.header.add("apv", "7") },
            Row("RSA-OAEP-256") { $0.header = $0.header.with("alg", "\"RSA-OAEP-256\"") },
        ])
    func ec(row: Row) throws {
        var draft = try Draft.ec()
        try row.change(&draft)
        #expect(try opened(draft.text, Draft.ecKey(), .a128GCM) == nil)
    }

    @Test("Without change, the rows' drafts are opened")
    func unchanged() throws {
        #expect(try opened(Draft.rsa().text, Draft.rsaKey(), .a256GCM) != nil)
        #expect(try opened(Draft.ec().text, Draft.ecKey(), .a128GCM) != nil)
    }

    @Test(
        "Another key, another content encryption than the registered one, and a token that is not encrypted are refused"
    )
    func registered() throws {
        let other = try DecryptionKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        #expect(try opened(Draft.ec().text, other, .a128GCM) == nil)
        #expect(try opened(Draft.rsa().text, other, .a256GCM) == nil)
        #expect(try opened(Draft.ec().text, Draft.ecKey(), .a256GCM) == nil)
        #expect(try opened(Draft.ec(.a256GCM).text, Draft.ecKey(), .a128GCM) == nil)
        #expect(try opened(TokenDraft().text, Draft.ecKey(), .a128GCM) == nil, "signed only")
        #expect(try opened("", Draft.ecKey(), .a128GCM) == nil)
    }

    @Test("Around a replacement, either key opens; a kid chooses, and one that nobody has chooses none")
    func rotation() throws {
        let (own, other) = (
            try Draft.ecKey(), try DecryptionKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        )
        for (key, second) in [(own, other), (other, own)] {
            for kid in [nil, "\"ec\"", "\"unknown\""] {
                var draft = try Draft.ec()
                if let kid { draft.header.add("kid", kid) }
                #expect(try opened(draft.text, key, .a128GCM, other: second) != nil)
            }
            var draft = try Draft.ec()
            draft.header.add("kid", "\"\(other.keyID)\"")
            #expect(try opened(draft.text, key, .a128GCM, other: second) == nil, "the kid is of the wrong key")
        }
    }

    @Test("A decryption key is RSA or P-256, for encryption")
    func keys() throws {
        let rsa = PrivateKeyTexts.jwk(try #require(Draft.rsaKeyPair))
        let ec = PrivateKeyTexts.jwk(P256.Signing.PrivateKey())
        let octets = PrivateKeyTexts.jwk(Curve25519.Signing.PrivateKey())
        let rows: [(JSONDraft, KeyManagementAlgorithm?)] = [
            (rsa, .rsaOAEP256), (rsa.with("use", "\"enc\""), .rsaOAEP256),
            (rsa.with("alg", "\"RSA-OAEP-256\""), .rsaOAEP256),
            (rsa.with("use", "\"sig\""), nil), (rsa.with("alg", "\"RS256\""), nil),
            (rsa.with("alg", "\"RSA-OAEP\""), nil),
            (rsa.with("alg", "\"ECDH-ES\""), nil), (ec, .ecdhES),
            (ec.with("use", "\"enc\"").with("kid", "\"k\""), .ecdhES),
            (ec.with("alg", "\"ES256\""), nil), (ec.with("d", nil), nil), (octets, nil),
        ]
        for (jwk, algorithm) in rows {
            #expect((try? DecryptionKey(parsing: Secret(jwk.text)))?.algorithm == algorithm, "\(jwk.text.prefix(60))")
        }
    }

    @Test("A published key has its public numbers, use, alg and kid, and no other member; a key is not printed")
    func published() throws {
        for (key, members, algorithm) in [
            (try Draft.rsaKey(), ["e", "kty", "n", "use", "alg", "kid"], "RSA-OAEP-256"),
            (try Draft.ecKey(), ["crv", "kty", "x", "y", "use", "alg", "kid"], "ECDH-ES"),
        ] {
            var json = JSONObjectWriter()
            key.writePublicKey(to: &json)
            let object = try #require(try JSONValue(parsing: json.finish()).object)
            #expect(object.members.map(\.name) == members, "no private number")
            #expect(object["use"]?.string == "enc")
            #expect(object["alg"]?.string == algorithm)
            #expect(object["kid"]?.string == key.keyID)
            #expect("\(key)" == "‹redacted›")
        }
    }
}
