import Primitives
import Testing

@Suite("Texts between separators")
struct StringSplitTests {
    @Test(
        "A separator is its byte, whatever joins with it or looks like it",
        arguments: [
            ("a;b", ["a", "b"]), (";a;;b;", ["", "a", "", "b", ""]), ("", [""]), (";", ["", ""]),
            ("a\u{602};b", ["a\u{602}", "b"]), ("a;\u{301}b", ["a", "\u{301}b"]), ("a\u{37E}b", ["a\u{37E}b"]),
            ("\u{E9};b", ["\u{E9}", "b"]),
        ])
    func parts(text: String, parts: [String]) {
        #expect(
            text.split(ascii: ";", omittingEmptySubsequences: false).map { Array($0.utf8) }
                == parts.map { Array($0.utf8) })
        #expect(text.split(ascii: ";").map(String.init) == parts.filter { !$0.isEmpty })
        #expect(
            text.dropFirst(0).split(ascii: ";", maxSplits: 1, omittingEmptySubsequences: false).count
                == min(parts.count, 2))
    }
}
