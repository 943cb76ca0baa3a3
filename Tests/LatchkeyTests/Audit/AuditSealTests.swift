import Crypto
import Foundation
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import AuditSeals

/// Which signed texts are seals of the audit log, for the server and for the program in Python.
@Suite struct AuditSealTests {
    /// A change of a seal before it is signed.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let old: String
        let new: String
        /// Whether the program in Python refuses it by itself, and not by the thumbprint of the key.
        let isCheckedInPython: Bool

        init(_ description: String, _ old: String, _ new: String, isCheckedInPython: Bool = true) {
            (testDescription, self.old, self.new) = (description, old, new)
            self.isCheckedInPython = isCheckedInPython
        }
    }

    private static let changes: [Change] = [
        Change("another algorithm", #""ES256""#, #""ES384""#),
        Change("no algorithm", #""alg":"ES256","#, ""),
        Change("another type of signed text", "audit-seal+jws", "JWT"),
        Change("no type", #""typ":"audit-seal+jws","#, ""),
        Change("an extension that must be understood", #""alg""#, #""crit":["exp"],"exp":1,"alg""#),
        Change("another kind of key", #""EC""#, #""OKP""#),
        Change("another curve", "P-256", "P-384"),
        Change("no key", #""jwk""#, #""key""#),
        Change("a key without a coordinate", #""x":"#, #""z":"#),
        Change("no number", #""number":1,"#, ""),
        Change("another number", #""number":1,"#, #""number":2,"#),
        Change("a text for the number", #""number":1,"#, #""number":"1","#),
        Change("no entries", #""entries":"#, #""entry":"#),
        Change("another number of entries", #""count":0"#, #""count":1"#),
        Change("no predecessor", #""previous":"#, #""before":"#, isCheckedInPython: false),
        Change("no keys", #""keys":"#, #""key":"#, isCheckedInPython: false),
        Change("a number among the keys", #""keys":["#, #""keys":[1,"#, isCheckedInPython: false),
        Change("no retention", #""retention":"#, #""kept":"#, isCheckedInPython: false),
    ]

    private let key = P256.Signing.PrivateKey()

    private func jws(
        _ change: (String) -> String = { $0 }, signedBy signer: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let point = Array(key.publicKey.rawRepresentation)
        let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.dropFirst(32)))
        let header =
            #"{"alg":"ES256","typ":"audit-seal+jws","jwk":{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}}"#
        let payload =
            #"{"number":1,"last":0,"count":0,"time":1,"sealed_at":1,"retention":86400,"entries":""#
            + AuditDigest(sha256Of: []).description
            + #"","previous":"\#(AuditDigest.noSeal)","keys":["\#(thumbprint)"]}"#
        let signed = [header, payload].map { Base64URL.encode(Array(change($0).utf8)) }.joined(separator: ".")
        let signature = try (signer ?? key).signature(for: Data(signed.utf8)).rawRepresentation
        return signed + "." + Base64URL.encode(Array(signature))
    }

    private var thumbprint: String {
        let point = Array(key.publicKey.rawRepresentation)
        let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.dropFirst(32)))
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return Base64URL.encode(Array(SHA256.hash(data: Data(members.utf8))))
    }

    /// What the verifiers say about a log with this seal alone.
    private func verdicts(_ jws: String) async throws -> (swift: AuditError?, python: Program.Ending) {
        let record = AuditSealRecord(
            number: 1, lastSerial: 0, time: Timestamp(secondsSinceEpoch: 1), jws: jws, entries: [])
        var fault: AuditError?
        var verifier = AuditVerifier(trusted: [thumbprint])
        do throws(AuditError) {
            try verifier.check(record, events: [])
            try verifier.finish(at: Timestamp(secondsSinceEpoch: 2), retention: 86_400)
        } catch { fault = error }
        let line = #"{"type":"seal","number":1,"digest":"","jws":"\#(jws)","entries":""}"#
        return (fault, try await AuditExport.verify([line], ["--key=\(thumbprint)"]))
    }

    @Test("A seal that is signed as the documentation says is valid")
    func valid() async throws {
        let (fault, python) = try await verdicts(try jws())
        #expect(fault == nil)
        #expect(python.status == 0, "\(python.output)")
    }

    @Test("What is signed with the server's key and is no seal is refused", arguments: changes)
    func refused(change: Change) async throws {
        let changed = try jws { $0.replacing(change.old, with: change.new) }
        #expect(changed.split(separator: ".").dropLast() != (try jws()).split(separator: ".").dropLast())
        let (fault, python) = try await verdicts(changed)
        #expect(fault?.kind == "seal_changed" && fault?.seal == 1)
        guard change.isCheckedInPython else { return }
        #expect(python.status == 1)
        #expect(python.output == "seal 1 was changed\n")
    }

    @Test("A seal whose signature is not that of its key over exactly its text is refused")
    func signatures() async throws {
        let good = try jws()
        let signature = try #require(good.split(separator: ".").last)
        let der = try key.signature(for: Data(good.dropLast(signature.count + 1).utf8)).derRepresentation
        let seals = [
            try jws(signedBy: P256.Signing.PrivateKey()), String(good.dropLast(4)), good + "AAAA", good + ".",
            "." + good, String(good.dropLast(signature.count)),
            String(good.dropLast(signature.count)) + Base64URL.encode(Array(der)),
        ]
        for seal in seals {
            let (fault, python) = try await verdicts(seal)
            #expect(fault?.kind == "seal_changed" && fault?.seal == 1, "\(seal)")
            #expect(python.output == "seal 1 was changed\n", "\(seal)")
        }
    }

    @Test("A seal beyond the largest size is not read")
    func size() throws {
        let padding = String(repeating: " ", count: 16_384)
        #expect(AuditSeal.read(try jws()) != nil)
        #expect(AuditSeal.read(try jws { $0.replacing(#"{"number""#, with: #"{\#(padding)"number""#) }) == nil)
    }
}
