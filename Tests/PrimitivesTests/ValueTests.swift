import Primitives
import Testing

struct ValueTests {
    @Test("A secret shows itself only when asked")
    func secret() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        for shown in ["\(secret)", String(reflecting: secret), "\([secret])", "\(Optional(secret) as Any)", dumped] {
            #expect(!shown.contains("hunter2"))
        }
        #expect(secret.exposed == "hunter2")
    }

    @Test("A time stops at the ends of the range")
    func timestamp() {
        let moment = Timestamp(secondsSinceEpoch: 100)
        #expect(moment.advanced(bySeconds: -150).secondsSinceEpoch == -50)
        #expect(moment.advanced(bySeconds: .max).secondsSinceEpoch == .max)
        #expect(Timestamp(secondsSinceEpoch: -100).advanced(bySeconds: .min).secondsSinceEpoch == .min)
        #expect(moment < moment.advanced(bySeconds: 1))
    }

    @Test("Texts are compared by their bytes, not by Unicode's equivalence")
    func bytes() {
        let kelvin = "\u{212A}"
        #expect(kelvin == "K")
        #expect(!kelvin.hasSameBytes(as: "K"))
        #expect(!"e\u{301}".hasSameBytes(as: "é"))
        #expect("abc".hasSameBytes(as: "abc"))
        #expect(!"abc".hasSameBytes(as: "abd"))
        #expect("abc".hasSameBytesInConstantTime(as: "abc"))
        #expect(!"abc".hasSameBytesInConstantTime(as: "abd"))
        #expect(!"abc".hasSameBytesInConstantTime(as: "abcd"))
        #expect(!"".hasSameBytesInConstantTime(as: "a"))
    }

    @Test("Random bytes come in the requested number, and differ")
    func random() {
        #expect(RandomSource.system.bytes(0) == [])
        #expect(RandomSource.system.bytes(33).count == 33)
        #expect(RandomSource.system.bytes(32) != RandomSource.system.bytes(32))
        #expect(RandomSource.system.token().utf8.count == 43)
        #expect(RandomSource { [UInt8](repeating: 0, count: $0) }.token(bytes: 3) == "AAAA")
    }

    @Test(
        "Bytes are written with two lower-case digits each",
        arguments: [
            ([UInt8](), ""), ([0], "00"), ([15, 16, 255], "0f10ff"),
            ([1, 35, 69, 103, 137, 171, 205, 239], "0123456789abcdef"),
        ])
    func hexadecimal(bytes: [UInt8], text: String) { #expect(bytes.hexadecimal == text) }
}
