import HTTPServer
import Testing

@Suite("Percent-encoding")
struct PercentEncodingTests {
    @Test(
        "What is well formed is decoded",
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
        "What is not is refused",
        arguments: [
            "%", "%4", "a%", "%G0", "%0G", "% 1", "%+1", "%-1", "%00", "a%00b", "%FF", "%C3", "%C3%28",
            "%F8%88%80%80%80", "%ED%A0%80", "\0",
        ])
    func refused(_ text: String) {
        #expect(PercentEncoding.decodePath(text.utf8) == nil)
        #expect(PercentEncoding.decodeForm(text.utf8) == nil)
    }
}
