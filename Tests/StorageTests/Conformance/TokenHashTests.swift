import Crypto
import Primitives
import StorageModel
import Testing

@Suite("A token hash")
struct TokenHashTests {
    private static let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test("is the SHA-256 of the text (FIPS 180-4, example \"abc\")")
    func sha256() { #expect(TokenHash(sha256Of: "abc").bytes.hexadecimal == Self.digest) }

    @Test("is read from exactly 32 bytes, and equals a hash of the same bytes only")
    func bytes() throws {
        let hash = TokenHash(sha256Of: "abc")
        #expect(TokenHash(hash.bytes) == hash)
        for count in [0, 31, 33, 64] { #expect(TokenHash([UInt8](repeating: 1, count: count)) == nil) }
        for index in 0..<32 {
            var other = hash.bytes
            other[index] ^= 1
            #expect(TokenHash(other) != hash)
        }
    }

    @Test(
        "of a session token begins with the token's time, and is that of its text otherwise",
        arguments: [
            // A first token, and one after a family.
            ("AAECAwQF", "", [0, 1, 2, 3, 4, 5]), ("-_-_-_-_", "", [251, 255, 191, 251, 255, 191]),
            ("AAECAwQF", String(repeating: "f", count: 43) + ".", [0, 1, 2, 3, 4, 5]),
            // Of tokens that are bound to a key.
            ("AAECAwQF", String(repeating: "k", count: 43) + "~", [0, 1, 2, 3, 4, 5]),
            (
                "AAECAwQF", String(repeating: "k", count: 43) + "~" + String(repeating: "f", count: 43) + ".",
                [0, 1, 2, 3, 4, 5]
            ),
        ] as [(String, String, [UInt8])])
    func time(begin: String, family: String, time: [UInt8]) {
        let token = family + begin + String(repeating: "x", count: 40)
        let plain = TokenHash(sha256Of: token)
        #expect(TokenHash(ofSessionToken: token).bytes == time + plain.bytes.dropFirst(6))
        #expect(TokenHash(ofSessionToken: token).number == plain.number)
    }

    @Test(
        "of a session token without a time is the plain SHA-256",
        arguments: [
            "", "x", String(repeating: "a", count: 43),
            String(repeating: "a", count: 43) + "."
                + String(repeating: "a", count: 43), String(repeating: "a", count: 47),
            String(repeating: "a", count: 49), "AAECAwQ+" + String(repeating: "x", count: 40),
            "AAECAwQ\u{E9}" + String(repeating: "x", count: 39),
        ])
    func noTime(token: String) { #expect(TokenHash(ofSessionToken: token) == TokenHash(sha256Of: token)) }

    @Test("of a later token is greater, as the database compares them")
    func order() {
        var last: [UInt8] = []
        for (second, fraction) in [(0, 0), (0, 1), (0, 65_535), (1, 0), (1_800_000_000, 7), (4_294_967_295, 0)] {
            let time = SessionTokenFormat.time(at: Int64(second), fraction: UInt16(fraction))
            let token = Base64URL.encode(time + RandomSource.system.bytes(SessionTokenFormat.randomBytes))
            #expect(token.utf8.count == SessionTokenFormat.characters)
            let hash = TokenHash(ofSessionToken: token).bytes
            #expect(last.lexicographicallyPrecedes(hash))
            last = hash
        }
    }

    @Test("of a provider's token begins with its time of issue, and is the digest otherwise")
    func issuedAt() {
        let digest = SHA256.hash(data: Array("abc".utf8))
        let hash = TokenHash(digest, issuedAt: Timestamp(secondsSinceEpoch: 0x0102_0304))
        #expect(hash.bytes == [1, 2, 3, 4, 0, 0] + digest.dropFirst(6))
    }

    @Test("of issuer and subject is an identity's fingerprint")
    func fingerprint() {
        let identity = Identity(issuer: "https://issuer.example", subject: "s")
        #expect(identity.fingerprint == TokenHash(sha256Of: "https://issuer.example\0s").bytes.hexadecimal)
        #expect(identity.fingerprint.utf8.count == 64)
    }
}
