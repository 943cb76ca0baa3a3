import Crypto
import CryptoExtras
import OpenIDConnect
import Primitives
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

struct IDTokenSignatureTests {
    private func verify(_ row: TokenCase, key: TestKey = .rsa1) throws {
        var draft = TokenDraft(key: key)
        row.change(&draft)
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1, .ec1)) == row.check)
    }

    @Test("Both algorithms are accepted, each with its own key", arguments: [TestKey.rsa1, .ec1, .rsa2, .ec2])
    func accepted(_ key: TestKey) throws {
        #expect(try failedCheck(TokenDraft(key: key).text, keySet: TestKey.keySet(.rsa1, .rsa2, .ec1, .ec2)) == nil)
    }

    private static let badSignatures: [TokenCase] = [
        TokenCase("every byte changed", .signature) { draft in
            let key = draft.key
            draft.sign = { key.sign($0).map { $0 ^ 0x5A } }
        },
        TokenCase("one bit changed", .signature) { draft in
            let key = draft.key
            draft.sign = { signed in
                var signature = key.sign(signed)
                signature[signature.count - 1] ^= 1
                return signature
            }
        },
        TokenCase("characters sorted", .signature) { draft in
            let key = draft.key
            draft.sign = { key.sign($0).sorted() }
        },
        TokenCase("of another text", .signature) { draft in
            let key = draft.key
            draft.sign = { _ in key.sign(Array("another".utf8)) }
        },
        TokenCase("one byte", .signature) { $0.sign = { _ in [0] } },
        TokenCase("zeros", .signature) { draft in
            let key = draft.key
            draft.sign = { [UInt8](repeating: 0, count: key.sign($0).count) }
        },
        TokenCase("cut short", .signature) { draft in
            let key = draft.key
            draft.sign = { Array(key.sign($0).dropLast()) }
        },
        TokenCase("with a byte in front", .signature) { draft in
            let key = draft.key
            draft.sign = { [0] + key.sign($0) }
        },
        TokenCase("payload exchanged", .signature) { draft in
            let other = Base64URL.encode(draft.claims.with("sub", "\"victim\"").text.utf8)
            draft.finish = { text in
                let parts = text.split(separator: ".")
                return "\(parts[0]).\(other).\(parts[2])"
            }
        },
    ]

    @Test("A bad RS256 signature is refused", arguments: badSignatures)
    func badRS256(_ row: TokenCase) throws { try verify(row) }

    @Test("A bad ES256 signature is refused", arguments: badSignatures)
    func badES256(_ row: TokenCase) throws { try verify(row, key: .ec1) }

    @Test("An ES256 signature in DER is refused, because JWS concatenates the two numbers")
    func der() throws {
        let key = TestKey.ec1
        var draft = TokenDraft(key: key)
        draft.sign = { signed in
            guard case .p256(let privateKey) = key.pair else { return [] }
            return Array((try? privateKey.signature(for: SHA256.hash(data: signed)))?.derRepresentation ?? Data())
        }
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(key)) == .signature)
    }

    @Test("A token signed with an unpublished key is refused")
    func foreignKey() throws {
        var draft = TokenDraft(key: .rsa2)
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .key)
        draft.header["kid"] = "\"rsa-1\""
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .signature)
    }

    @Test(
        "An algorithm that is not allowed is refused, however it is spelled and signed",
        arguments: [
            "\"none\"", "\"None\"", "\"NONE\"", "\"nOnE\"", "\"\"", "null", "0", "[\"RS256\"]", "\"RS256 \"",
            "\"rs256\"",
            "\"RS384\"", "\"RS512\"", "\"PS256\"", "\"ES384\"", "\"ES256K\"", "\"EdDSA\"", "\"HS256\"", "\"HS512\"",
            "\"RSA-OAEP\"", "\"dir\"", nil,
        ] as [String?])
    func otherAlgorithms(_ algorithm: String?) throws {
        var draft = TokenDraft()
        draft.header["alg"] = algorithm
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .algorithm)
        draft.sign = { TestKey.rsa1.signPSS($0) }
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .algorithm)
    }

    @Test("An unsigned token is refused with an empty third part, and with none")
    func unsigned() throws {
        var draft = TokenDraft()
        draft.header = [("alg", "\"none\"")]
        draft.sign = { _ in [] }
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .format)
        draft.finish = { String($0.dropLast()) }
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .format)
    }

    @Test("An HMAC with a public value or the client secret as its key is refused", arguments: 0..<8)
    func hmac(_ choice: Int) throws {
        guard case .rsa(let rsa) = TestKey.rsa1.pair else { return }
        let pem = rsa.publicKey.pemRepresentation
        let keys: [[UInt8]] = [
            Array(pem.utf8), Array((pem + "\n").utf8), Array(rsa.publicKey.derRepresentation),
            Array(TestKey.rsa1.jwk.text.utf8), Array("RS256".utf8), Array("RSA".utf8), [], Array("s3cret".utf8),
        ]
        let key = SymmetricKey(data: keys[choice])
        for algorithm in ["\"HS256\"", "\"RS256\""] {
            var draft = TokenDraft()
            draft.header["alg"] = algorithm
            draft.sign = { Array(HMAC<SHA256>.authenticationCode(for: $0, using: key)) }
            let check: IDTokenCheck = algorithm == "\"HS256\"" ? .algorithm : .signature
            #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == check)
        }
    }

    @Test("A supported algorithm that the provider does not list is refused")
    func pinned() throws {
        let text = TokenDraft(key: .ec1).text
        #expect(try failedCheck(text, keySet: TestKey.keySet(.ec1), algorithms: [.rs256]) == .algorithm)
        #expect(try failedCheck(text, keySet: TestKey.keySet(.ec1), algorithms: [.es256]) == nil)
    }

    @Test("A header that names another algorithm than its key's is refused")
    func algorithmOfOtherKeyType() throws {
        var draft = TokenDraft(key: .rsa1)
        draft.header["alg"] = "\"ES256\""
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1, .ec1)) == .key)
    }
}
