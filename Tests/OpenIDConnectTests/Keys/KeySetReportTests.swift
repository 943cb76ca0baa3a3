import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct KeySetReportTests {
    private func entry(_ draft: JSONDraft) throws -> KeySetReport.Entry {
        try #require(KeySetReport(parsing: Array(TestKey.keySet([draft]).utf8))?.entries.first)
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
        let entry = try entry(TestKey.rsa1.jwk.with(member, json))
        #expect(entry.refusal == refusal)
        #expect(entry.algorithms.contains(.rs256) == (refusal == nil))
    }

    @Test("Usable and weak keys are reported with their size")
    func sizes() throws {
        #expect(try entry(TestKey.rsa1.jwk).bits == 2048)
        let curve = try entry(TestKey.ec1.jwk)
        #expect(curve.kind == "EC P-256")
        #expect(curve.algorithms == [.es256])
        #expect(curve.bits == 256)
        let weak = Base64URL.encode([UInt8](repeating: 255, count: 128))
        #expect(try entry(TestKey.rsa1.jwk.with("n", "\"\(weak)\"")).bits == 1024)
    }

    @Test("The number of usable entries is the number of the key set's keys")
    func agreement() throws {
        let drafts = [TestKey.rsa1.jwk, TestKey.ec1.jwk, TestKey.rsa2.jwk.with("use", "\"enc\"")]
        let text = Array(TestKey.keySet(drafts).utf8)
        let usable = KeySetReport(parsing: text)?.entries.filter { $0.refusal == nil }.count
        #expect(usable == 2)
        #expect(JSONWebKeySet(parsing: text)?.count == 2)
        #expect(KeySetReport(parsing: Array("{\"keys\":[]}".utf8)) == nil)
    }
}
