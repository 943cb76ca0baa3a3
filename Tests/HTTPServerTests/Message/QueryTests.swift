import HTTPServer
import HTTPTypes
import Testing

@Suite("Query")
struct QueryTests {
    @Test(
        "Parameters are split and decoded",
        arguments: [
            ("", []), ("&", []), ("a=b", ["a", "b"]), ("a", ["a", ""]), ("a=", ["a", ""]), ("=b", ["", "b"]),
            ("a=b=c", ["a", "b=c"]), ("a=b&c=d", ["a", "b", "c", "d"]), ("&a=b&&c=d&", ["a", "b", "c", "d"]),
            ("a+b=c+d", ["a b", "c d"]), ("a%3Db=c%26d", ["a=b", "c&d"]), ("a=%2B", ["a", "+"]),
            ("a=caf%C3%A9", ["a", "caf\u{E9}"]), ("a=%e2%82%AC", ["a", "\u{20AC}"]), ("a=b;c=d", ["a", "b;c=d"]),
            ("a=1&a=2", ["a", "1", "a", "2"]),
        ] as [(String, [String])])
    func items(_ text: String, _ expected: [String]) {
        #expect(Query(text)?.items.flatMap { [$0.name, $0.value] } == expected)
    }

    @Test(
        "Malformed input is refused",
        arguments: [
            "a=%", "a=%4", "a=%zz", "a=%4g", "%=a", "a=%FF", "a=%C3", "a=%C0%AF", "a=%ED%A0%80", "a=%00", "a=b%00c",
            "a=%+1", "a" + String(repeating: "%CC%81", count: 31), "a=b" + String(repeating: "%CC%96", count: 31),
        ])
    func malformed(_ text: String) {
        #expect(Query(text) == nil)
    }

    @Test(
        "What a browser brings is repaired",
        arguments: [
            ("a=b+c&d&=e&&a=%41", ["a", "b c", "d", "", "", "e", "a", "A"]),
            ("a=%zz%4&b=100%", ["a", "%zz%4", "b", "100%"]),
            ("a=Zugriff%20verweigert%FC", ["a", "Zugriff verweigert\u{FFFD}"]), ("%E9=%C3", ["\u{FFFD}", "\u{FFFD}"]),
            ("a=b%00c", ["a", "b\u{FFFD}c"]), ("a=%%41=", ["a", "%A="]), ("a=[b]|{c}^`", ["a", "[b]|{c}^`"]),
            ("a=b" + String(repeating: "%CC%96", count: 31), ["a", "\u{FFFD}"]), ("", []),
        ] as [(String, [String])])
    func repaired(_ text: String, _ expected: [String]) throws {
        let query = try #require(Query(repairing: text.utf8))
        #expect(query.items.flatMap { [$0.name, $0.value] } == expected)
        #expect(Query(repairing: Array(text.utf8)) == query)
    }

    @Test("A browser's query with more than a hundred parameters is refused: none of them is left out")
    func repairedCount() {
        let hundred = (1...100).map { "a\($0)=b" }.joined(separator: "&&")
        #expect(Query(repairing: hundred.utf8)?.items.map(\.name) == (1...100).map { "a\($0)" })
        #expect(Query(repairing: (hundred + "&c").utf8) == nil)
        #expect(Query(repairing: (hundred + "&").utf8)?.items.count == 100)
    }

    @Test("Only parameters of known names are kept, repeated ones too")
    func only() throws {
        let query = try #require(Query(repairing: "a=1&b=2&a=3&%41=4".utf8)).only(["a", "c"])
        #expect(query.items.map(\.value) == ["1", "3"] && query.repeatedName == "a")
    }

    @Test("The number of parameters is limited")
    func count() {
        let hundred = (1...100).map { "a\($0)=b" }.joined(separator: "&")
        #expect(Query(hundred)?.items.count == 100)
        #expect(Query(hundred + "&c") == nil)
        #expect(Query("a&b", maximumItems: 1) == nil)
    }

    @Test("A parameter is found by name only if it occurs once")
    func single() throws {
        let query = try #require(Query("a=1&b=2&a=3&c"))
        #expect(query["a"] == nil)
        #expect(query["b"] == "2")
        #expect(query["c"] == "")
        #expect(query["d"] == nil)
        #expect(query.repeatedName == "a")
        #expect(Query("a=1&b=2")?.repeatedName == nil)
        #expect(Query().items.isEmpty)
    }

    @Test("Names are told apart by their bytes, also where Unicode calls them equivalent")
    func equivalent() throws {
        let query = try #require(Query("K=1&%E2%84%AA=2&%C3%A9=3&e%CC%81=4"))
        #expect(["K", "\u{212A}", "\u{E9}", "e\u{301}"].map { query[$0] } == ["1", "2", "3", "4"])
        #expect(query.repeatedName == nil)
    }

    @Test("The bytes of a body are read as a text is; bytes that are not UTF-8 are refused")
    func bytes() {
        #expect(Query(Array("a=b&c=%41+d".utf8))?.items == Query("a=b&c=A%20d")?.items)
        #expect(Query([UInt8(ascii: "a"), 0xFF]) == nil)
        #expect(Query(Array("a&b".utf8), maximumItems: 1) == nil)
    }

    @Test("A request has its query decoded and as received")
    func ofRequest() throws {
        let request = try Request(.get, "/a?b=c%20d&e")
        #expect(try request.query["b"] == "c d")
        #expect(request.head.rawQuery == "b=c%20d&e")
        #expect(try Request(.get, "/a").query.items.isEmpty)
    }

    @Test("Reading a malformed query of a request is a 400", arguments: ["b=%FF", "b=%C3", "b=%C0%AF", "b=%00"])
    func malformedOfRequest(_ query: String) throws {
        let request = try Request(.get, "/a?" + query)
        #expect(request.head.rawQuery == query)
        let error = #expect(throws: HTTPError.self) { try request.query }
        #expect(error?.status == .badRequest)
        #expect(error?.code == "invalid_request")
    }
}
