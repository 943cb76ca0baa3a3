import Crypto
import CryptoExtras
import Examination
import FoundationEssentials
import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct KeySetReportTests {
    /// The members of a JSON Web Key, each value as JSON text.
    private typealias Key = [(name: String, json: String)]

    private func rsa(_ pem: String = RSAKeyPEM.first) throws -> Key {
        let numbers = try _RSA.Signing.PrivateKey(pemRepresentation: pem).publicKey.getKeyPrimitives()
        return [
            ("kty", "\"RSA\""), ("use", "\"sig\""), ("alg", "\"RS256\""), ("kid", "\"rsa\""),
            ("n", "\"\(Base64URL.encode(numbers.modulus))\""), ("e", "\"\(Base64URL.encode(numbers.publicExponent))\""),
        ]
    }

    /// - Parameter json: Nil removes the member.
    private func changed(_ key: Key, _ name: String, _ json: String?) -> String {
        TokenText.object(key.filter { $0.name != name } + (json.map { [(name, $0)] } ?? []))
    }

    private func keySet(_ keys: [String]) -> [UInt8] { Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8) }

    private func entry(_ key: String) throws -> KeySetEntry {
        try #require(KeySetEntry.all(in: keySet([key]))?.first)
    }

    @Test(
        "Each ignored entry is reported with the reason",
        arguments: [
            ("use", "\"enc\"", .purpose), ("key_ops", "[\"sign\"]", .purpose), ("kty", "\"oct\"", .kind),
            ("alg", "\"HS256\"", .algorithm), ("kid", "7", .keyID),
            ("n", "\"\(Base64URL.encode([UInt8](repeating: 255, count: 128)))\"", .size),
            ("e", "\"Aw\"", .numbers), ("use", nil, nil),
        ] as [(String, String?, PublicKey.KeyError?)])
    func refusals(member: String, json: String?, refusal: PublicKey.KeyError?) throws {
        let entry = try entry(changed(try rsa(), member, json))
        #expect(entry.refusal == refusal)
        #expect(entry.algorithms.contains(.rs256) == (refusal == nil))
    }

    @Test("Usable and weak keys are reported with their size")
    func sizes() throws {
        #expect(try entry(TokenText.object(try rsa())).bits == 2048)
        let curve = try entry(TestSigningKey(keyID: "ec").jwk)
        #expect(curve.kind == "EC P-256")
        #expect(curve.algorithms == [.es256])
        #expect(curve.bits == 256)
        let weak = Base64URL.encode([UInt8](repeating: 255, count: 128))
        #expect(try entry(changed(try rsa(), "n", "\"\(weak)\"")).bits == 1024)
    }

    @Test("The number of usable entries is the number of the key set's keys")
    func agreement() throws {
        let keys = [
            TokenText.object(try rsa()), TestSigningKey(keyID: "ec").jwk,
            changed(try rsa(RSAKeyPEM.second), "use", "\"enc\""),
        ]
        let usable = KeySetEntry.all(in: keySet(keys))?.filter { $0.refusal == nil }.count
        #expect(usable == 2)
        #expect(JSONWebKeySet(parsing: keySet(keys))?.count == 2)
        #expect(KeySetEntry.all(in: keySet([])) == nil)
    }
}
