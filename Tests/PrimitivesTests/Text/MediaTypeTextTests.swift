import Primitives
import Testing

@Suite("Media types")
struct MediaTypeTextTests {
    @Test(
        "Type and subtype are the part before the parameters",
        arguments: [
            ("application/json", "application/json"), ("Application/JSON; charset=utf-8", "application/json"),
            (" \tapplication/jwt \t;x", "application/jwt"), ("", ""), (";", ""), (" ", ""),
            ("appli cation/json", "appli cation/json"), ("application/\u{212A}son", nil),
            ("application/json; name=\"ä\"", nil),
        ] as [(String, String?)])
    func essence(field: String, essence: String?) { #expect(MediaTypeText.essence(of: field) == essence) }
}
