import Primitives
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test(
        "The vectors of RFC 4648 section 10",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(_ text: String, _ encoded: String) { #expect(Base64.encode(Array(text.utf8)) == encoded) }

    @Test("The last two characters of the alphabet are + and /")
    func alphabet() { #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/") }
}
