import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct JSONWebKeySetTests {
    private func count(_ entries: [JSONDraft]) -> Int? {
        JSONWebKeySet(parsing: Array(TestKey.keySet(entries).utf8))?.count
    }

    private func count(_ text: String) -> Int? { JSONWebKeySet(parsing: Array(text.utf8))?.count }

    struct KeyCase: Sendable, CustomTestStringConvertible {
        let name: String
        let isUsable: Bool
        let entry: JSONDraft
        var testDescription: String { "\(name): \(isUsable ? "used" : "passed over")" }

        init(_ name: String, used: Bool, _ key: TestKey, _ member: String, _ json: String?) {
            self.name = name
            isUsable = used
            entry = key.jwk.with(member, json)
        }
    }

    @Test(
        "Entries are used only if they are supported keys for signatures",
        arguments: [
            KeyCase("use absent", used: true, .rsa1, "use", nil),
            KeyCase("use enc", used: false, .rsa1, "use", "\"enc\""),
            KeyCase("use null", used: true, .rsa1, "use", "null"),
            KeyCase("key_ops null", used: true, .rsa1, "key_ops", "null"),
            KeyCase("alg null", used: true, .rsa1, "alg", "null"),
            KeyCase("kid null", used: true, .rsa1, "kid", "null"),
            KeyCase("use SIG", used: false, .rsa1, "use", "\"SIG\""),
            KeyCase("key_ops verify", used: true, .rsa1, "key_ops", "[\"verify\"]"),
            KeyCase("key_ops sign", used: false, .rsa1, "key_ops", "[\"sign\"]"),
            KeyCase("key_ops empty", used: false, .rsa1, "key_ops", "[]"),
            KeyCase("key_ops no array", used: false, .rsa1, "key_ops", "\"verify\""),
            KeyCase("alg absent", used: true, .rsa1, "alg", nil),
            KeyCase("alg PS256", used: true, .rsa1, "alg", "\"PS256\""),
            KeyCase("alg HS256", used: false, .rsa1, "alg", "\"HS256\""),
            KeyCase("alg of encryption", used: false, .rsa1, "alg", "\"RSA-OAEP\""),
            KeyCase("alg ES384 of P-256", used: false, .ec1, "alg", "\"ES384\""),
            KeyCase("alg of another type", used: false, .rsa1, "alg", "\"ES256\""),
            KeyCase("alg number", used: false, .rsa1, "alg", "256"),
            KeyCase("kid absent", used: true, .rsa1, "kid", nil), KeyCase("kid number", used: false, .rsa1, "kid", "1"),
            KeyCase("kty absent", used: false, .rsa1, "kty", nil),
            KeyCase("kty oct", used: false, .rsa1, "kty", "\"oct\""),
            KeyCase("kty lower case", used: false, .rsa1, "kty", "\"rsa\""),
            KeyCase("kty EC of RSA", used: false, .rsa1, "kty", "\"EC\""),
            KeyCase("n absent", used: false, .rsa1, "n", nil), KeyCase("n empty", used: false, .rsa1, "n", "\"\""),
            KeyCase("n no base64url", used: false, .rsa1, "n", "\"+++\""),
            KeyCase("n number", used: false, .rsa1, "n", "5"),
            KeyCase("e 3", used: false, .rsa1, "e", "\"Aw\""), KeyCase("e 1", used: false, .rsa1, "e", "\"AQ\""),
            KeyCase("e 65536", used: false, .rsa1, "e", "\"AQAA\""),
            KeyCase("e 65539", used: true, .rsa1, "e", "\"AQAD\""),
            KeyCase("e of 33 bits", used: false, .rsa1, "e", "\"AQAAAAE\""),
            KeyCase("e empty", used: false, .rsa1, "e", "\"\""),
            KeyCase("e zero", used: false, .rsa1, "e", "\"AA\""),
            KeyCase("e with a zero in front", used: true, .rsa1, "e", "\"AAEAAQ\""),
            KeyCase("x5c beside", used: true, .rsa1, "x5c", "[\"MIIB\"]"),
            KeyCase("P-256", used: true, .ec1, "use", "\"sig\""),
            KeyCase("crv P-384", used: false, .ec1, "crv", "\"P-384\""),
            KeyCase("crv secp256k1", used: false, .ec1, "crv", "\"secp256k1\""),
            KeyCase("crv absent", used: false, .ec1, "crv", nil),
            KeyCase("x short", used: false, .ec1, "x", "\"\(Base64URL.encode([UInt8](repeating: 1, count: 31)))\""),
            KeyCase("x long", used: false, .ec1, "x", "\"\(Base64URL.encode([UInt8](repeating: 0, count: 33)))\""),
            KeyCase(
                "point off the curve", used: false, .ec1, "y",
                "\"\(Base64URL.encode([UInt8](repeating: 1, count: 32)))\""),
        ])
    func entries(_ row: KeyCase) {
        // Beside a usable key: an ignored entry does not invalidate the set.
        #expect(count([TestKey.ec2.jwk, row.entry]) == (row.isUsable ? 2 : 1))
        #expect(count([row.entry, TestKey.ec2.jwk]) == (row.isUsable ? 2 : 1))
    }

    @Test("The point at zero is not on the curve")
    func zeroPoint() {
        let zero = "\"\(Base64URL.encode([UInt8](repeating: 0, count: 32)))\""
        #expect(count([TestKey.ec1.jwk.with("x", zero).with("y", zero)]) == 0)
    }

    @Test(
        "RSA keys are used from 2048 to 8192 bits",
        arguments: [512, 1024, 2040, 2047, 2048, 3072, 4096, 8192, 8193, 16384])
    func modulusSize(_ bits: Int) {
        var modulus = [UInt8](repeating: 0xA5, count: (bits + 7) / 8)
        modulus[0] = 1 << UInt8((bits - 1) % 8)
        let entry = TestKey.rsa1.jwk.with("n", "\"\(Base64URL.encode(modulus))\"")
        #expect(count([entry]) == ((2048...8192).contains(bits) ? 1 : 0))
    }

    @Test("An even modulus is refused")
    func evenModulus() {
        var modulus = [UInt8](repeating: 0xA5, count: 256)
        modulus[255] = 0xA4
        #expect(count([TestKey.rsa1.jwk.with("n", "\"\(Base64URL.encode(modulus))\"")]) == 0)
    }

    @Test(
        "A document that is not a key set, or an empty set, is refused",
        arguments: [
            "", "null", "[]", "{}", #"{"keys":null}"#, #"{"keys":{}}"#, #"{"keys":[]}"#,
            #"{"keys":[],"keys":[]}"#, "<html></html>",
        ])
    func noKeySet(_ text: String) {
        #expect(count(text) == nil)
    }

    @Test("A set may have no usable key", arguments: [#"{"keys":[null,1,"x",[]]}"#, #"{"keys":[{}]}"#])
    func noUsableKey(_ text: String) {
        #expect(count(text) == 0)
    }

    @Test("A set of a hundred entries is read, a larger one is not")
    func entryCount() {
        let filler = [JSONDraft](repeating: [("kty", "\"oct\"")], count: 99)
        #expect(count(filler + [TestKey.ec1.jwk]) == 1)
        #expect(count(filler + [TestKey.ec1.jwk, TestKey.ec2.jwk]) == nil)
    }

    struct Choice: Sendable, CustomTestStringConvertible {
        let name: String
        let check: IDTokenCheck?
        let signer: TestKey
        let keyID: String?
        let entries: [JSONDraft]
        var testDescription: String { name }
    }

    private static let rsaAnonymous = TestKey.rsa1.jwk.with("kid", nil)
    private static let encryption = TestKey.rsa2.jwk.with("kid", "\"rsa-1\"").with("use", "\"enc\"").with(
        "alg", "\"RSA-OAEP\"")

    @Test(
        "The key is chosen by id, use, type and algorithm, and never guessed",
        arguments: [
            Choice(name: "one key, no ids", check: nil, signer: .rsa1, keyID: nil, entries: [rsaAnonymous]),
            Choice(
                name: "key with id, token without", check: nil, signer: .rsa1, keyID: nil, entries: [TestKey.rsa1.jwk]),
            Choice(
                name: "no id, one key fits among other types", check: nil, signer: .rsa1, keyID: nil,
                entries: [TestKey.ec1.jwk.with("kid", nil), rsaAnonymous, encryption]),
            Choice(
                name: "no id, two keys fit", check: .key, signer: .rsa1, keyID: nil,
                entries: [rsaAnonymous, TestKey.rsa2.jwk.with("kid", nil)]),
            Choice(
                name: "unknown id, genuine signature", check: .key, signer: .rsa1, keyID: "other",
                entries: [TestKey.rsa1.jwk]),
            Choice(name: "an id, key without", check: .key, signer: .rsa1, keyID: "rsa-1", entries: [rsaAnonymous]),
            Choice(name: "id in other case", check: .key, signer: .rsa1, keyID: "RSA-1", entries: [TestKey.rsa1.jwk]),
            Choice(name: "empty id", check: .key, signer: .rsa1, keyID: "", entries: [TestKey.rsa1.jwk]),
            Choice(
                name: "encryption key of the same id first", check: nil, signer: .rsa1, keyID: "rsa-1",
                entries: [encryption, TestKey.rsa1.jwk]),
            Choice(
                name: "encryption key of the same id last", check: nil, signer: .rsa1, keyID: "rsa-1",
                entries: [TestKey.rsa1.jwk, encryption]),
            Choice(
                name: "other types share the id", check: nil, signer: .rsa1, keyID: "rsa-1",
                entries: [TestKey.ec1.named("rsa-1").jwk, TestKey.rsa1.jwk, TestKey.ec2.named("rsa-1").jwk]),
            Choice(
                name: "two keys of one id and type", check: nil, signer: .rsa1, keyID: "rsa-1",
                entries: [TestKey.rsa2.named("rsa-1").jwk, TestKey.rsa1.jwk]),
            Choice(
                name: "more of one id than are tried", check: .signature, signer: .rsa1, keyID: "rsa-1",
                entries: [JSONDraft](repeating: TestKey.rsa2.named("rsa-1").jwk, count: 4) + [TestKey.rsa1.jwk]),
        ])
    func choice(_ row: Choice) throws {
        var draft = TokenDraft(key: row.signer)
        draft.header["kid"] = row.keyID.map { "\"\($0)\"" }
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(row.entries)) == row.check)
    }
}
