import Primitives
import Testing

@Suite("Combining marks")
struct MarksTests {
    private static func text(_ mark: Unicode.Scalar, _ count: Int) -> String {
        var text = String.UnicodeScalarView("a".unicodeScalars)
        text.append(contentsOf: repeatElement(mark, count: count))
        return String(text)
    }

    /// The first and the last mark of two, three and four bytes, and others between.
    @Test(
        "Thirty marks on a character are accepted, and one more is not",
        arguments: [
            "\u{300}", "\u{36F}", "\u{483}", "\u{7F3}", "\u{816}", "\u{20D0}", "\u{302A}", "\u{FE2F}", "\u{101FD}",
            "\u{1E94A}",
        ]
            as [Unicode.Scalar])
    func thirty(_ mark: Unicode.Scalar) {
        #expect(Self.text(mark, 30).isStreamSafe)
        #expect(!Self.text(mark, 31).isStreamSafe)
        #expect((Self.text(mark, 30) + Self.text(mark, 30)).isStreamSafe)
        #expect(!("\u{4E00}" + Self.text(mark, 30) + String(mark)).isStreamSafe)
    }

    @Test(
        "Texts without marks are accepted",
        arguments: [
            "", "a", "\u{2FF}", "\u{34F}", "\u{370}", "\u{7FF}", "\u{800}", "\u{4E00}", "\u{FFFD}", "\u{1F642}",
            "\u{20000}", "\u{10FFFF}",
        ])
    func none(_ text: String) {
        #expect(text.isStreamSafe)
        #expect(String(repeating: text, count: 100).isStreamSafe)
    }

    /// The table is of some ranges only: a newer Unicode may have marks elsewhere.
    @Test("Every mark of this version of Unicode counts, and nothing else")
    func all() {
        var wrong: [Unicode.Scalar] = []
        for scalar in (0x80...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init) {
            let isMark = scalar.properties.canonicalCombiningClass != .notReordered
            // Nearly all are none; those are looked at by the other ones of their block.
            if isMark || scalar.value % 64 == 0, Self.text(scalar, 31).isStreamSafe == isMark { wrong.append(scalar) }
        }
        #expect(wrong.isEmpty)
    }
}
