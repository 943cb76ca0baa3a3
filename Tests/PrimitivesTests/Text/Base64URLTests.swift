import Primitives
import Testing

struct Base64URLTests {
    @Test(
        "Bytes and text of RFC 4648 section 10 and the two characters of its own correspond",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
            ("\u{3}ÿ\u{1F}", "A8O_Hw"), ("~~~???", "fn5-Pz8_"),
        ])
    func correspond(_ bytes: String, _ text: String) {
        #expect(Base64URL.encode(bytes.utf8) == text)
        #expect(Base64URL.decode(text) == Array(bytes.utf8))
    }

    @Test("Every length comes back")
    func roundTrip() {
        for length in 0..<70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test(
        "A text other than the canonical one for its bytes is refused",
        arguments: [
            "A", "AAAAA", "Zg==", "Zm8=", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm 9v", "Zm9v\n", " Zm9v", "Zm9vé", "Zm9v.",
            "Zm9v\0",
            "====", "Zm9vZh",
        ])
    func refused(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
