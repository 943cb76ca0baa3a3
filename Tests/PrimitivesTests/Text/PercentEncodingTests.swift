import Primitives
import Testing

@Suite("Percent-encoding")
struct PercentEncodingTests {
    @Test(
        "A well-formed text is decoded",
        arguments: [
            ("", "", ""), ("abc", "abc", "abc"), ("a+b", "a+b", "a b"), ("a%2Bb", "a+b", "a+b"), ("%20", " ", " "),
            ("%41%4a%4A", "AJJ", "AJJ"), ("%25", "%", "%"), ("%2525", "%25", "%25"),
            ("%F0%9F%99%82", "\u{1F642}", "\u{1F642}"),
            ("%0D%0A", "\r\n", "\r\n"),
        ])
    func decoded(_ text: String, _ path: String, _ form: String) {
        #expect(PercentEncoding.decodePath(text.utf8) == path)
        #expect(PercentEncoding.decodeForm(text.utf8) == form)
    }

    @Test(
        "A malformed text is refused",
        arguments: [
            "%", "%4", "a%", "%G0", "%0G", "% 1", "%+1", "%-1", "%00", "a%00b", "%FF", "%C3", "%C3%28",
            "%F8%88%80%80%80", "%ED%A0%80", "\0",
        ])
    func refused(_ text: String) {
        #expect(PercentEncoding.decodePath(text.utf8) == nil)
        #expect(PercentEncoding.decodeForm(text.utf8) == nil)
    }

    @Test(
        "Everything but unreserved characters is encoded, byte by byte",
        arguments: [
            ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b", "a%20b"), ("+&=%", "%2B%26%3D%25"), ("é", "%C3%A9"),
            ("a/é?b", "a%2F%C3%A9%3Fb"),
        ])
    func encoded(_ text: String, _ expected: String) {
        var bytes = Array(">".utf8)
        PercentEncoding.append(text, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == ">" + expected)
        #expect(PercentEncoding.decodePath(expected.utf8) == text)
    }

    @Test("A form encodes names and values, and joins them")
    func form() {
        #expect(PercentEncoding.form([]).isEmpty)
        let form = PercentEncoding.form([("a&b", "1=2"), ("c", ""), ("d", "x y")])
        #expect(String(decoding: form, as: UTF8.self) == "a%26b=1%3D2&c=&d=x%20y")
    }
}
