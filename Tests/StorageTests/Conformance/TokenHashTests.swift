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

    @Test("of issuer and subject is an identity's fingerprint")
    func fingerprint() {
        let identity = Identity(issuer: "https://issuer.example", subject: "s")
        #expect(identity.fingerprint == TokenHash(sha256Of: "https://issuer.example\0s").bytes.hexadecimal)
        #expect(identity.fingerprint.utf8.count == 64)
    }
}
