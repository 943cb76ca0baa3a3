import LatchkeyConfiguration
import OpenIDConnect
import Testing

@Suite("Hostile configuration files")
struct YAMLHazardTests {
    @Test(
        "A file that is not plain YAML or JSON is refused with its line, without a crash",
        arguments: [
            ("http: {port: 80}\nhttp: {port: 81}", "has the key http more than once in one group", 2),
            ("http:\n  port: 80\n  \"port\": 81", "has the key port more than once in one group", 3),
            ("log: {level: &level info}", "has an anchor or alias (&, *), which are not supported", 1),
            ("log: &log {level: info}\nhttp: *log", "has an anchor or alias (&, *), which are not supported", 1),
            ("log: *log", "has a value that starts with * and is not in quotes", 1),
            ("zenkey:\n  trusted_issuers: [*.example.com]", "has a value that starts with * and is not in quotes", 2),
            ("log: {level: !!binary aW5mbw==}", "has a tag (!!…), which is not supported", 1),
            ("log: !custom {level: info}", "has a tag (!!…), which is not supported", 1),
            ("? [a, b]\n: c", "has a key that is not a name", 1),
            ("http:\n\tport: 80", "begins with a tab, which YAML does not allow", 2),
            ("http:\n  host:\u{A0}a\n  port: 80", "has a no-break space, which YAML takes for a letter", 2),
            ("http:\r\n  port: 80\r\n \tloops: 1", "begins with a tab, which YAML does not allow", 3),
            ("http:\n  host: ::", "has an IPv6 address that is not in quotes", 2),
            ("http: {host: [127.0.0.1, ::1]}", "has an IPv6 address that is not in quotes", 1),
            ("- http", "has no keys at its top", 1),
            ("just text", "has no keys at its top", 1),
            (
                "a: 1\n---\nb: 2",
                "is not YAML or JSON (expected a single document in the stream, but found another document)", 3
            ),
        ])
    func refused(text: String, reason: String, line: Int) throws {
        let error = try #require(throws: ConfigurationErrors.self) { try load(text) }
        #expect(error.problems.map(\.reason) == [reason])
        #expect(error.problems.first?.origin == .file(path: "test.yaml", line: line))
    }

    @Test("A merge key (<<) is an unknown key")
    func mergeKey() {
        #expect(problems("http: {<<: {port: 80}}").first?.contains("there is no such key") == true)
    }

    @Test("A word that YAML 1.1 reads as a Boolean or a number is read as text")
    func plainWords() throws {
        let configuration = try load("rate_limits: {enabled: off}\nzenkey: {issuers: {001010: 'https://a.att.com'}}")
            .configuration
        #expect(!configuration.rateLimits)
        #expect(configuration.zenkey.issuers.keys.map(\.text) == ["001010"])
    }

    @Test(
        "A file without settings gives the defaults",
        arguments: ["", "\n", "# nothing\n", "---\n", "{}", "http:\n"])
    func empty(text: String) throws {
        #expect(try load(text).configuration.http.port == 8080)
    }

    @Test("The depth of nesting is limited", arguments: ["[", "{a: ", "- ", "? "])
    func deep(opening: String) {
        for depth in [17, 900, 300_000] {
            #expect(problems(String(repeating: opening, count: depth)).count == 1)
        }
        let lists = "allowed_origins: " + String(repeating: "[", count: 900) + String(repeating: "]", count: 900)
        #expect(problems(lists).first?.contains("nested too deeply") == true)
    }

    @Test("Nested aliases are refused, as values and as keys")
    func aliasBomb() {
        var values = "a0: &a0 [x, x]\n"
        var keys = "a0: &a0 [x, x]\n"
        for level in 1...40 {
            values += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n"
            keys += "? &a\(level) [*a\(level - 1), *a\(level - 1)]\n: 1\n"
        }
        #expect(problems(values).first?.contains("has an anchor or alias") == true)
        #expect(problems(keys).first?.contains("has an anchor or alias") == true)
        let comment = String(repeating: "  # * item\n", count: 30)
        #expect(problems(comment) == [])
    }

    @Test("A file that is too large, or has too many values, is refused")
    func large() {
        #expect(problems(String(repeating: "#", count: 1 << 20)) == [])
        #expect(problems(String(repeating: "#", count: (1 << 20) + 1)).first?.contains("is too large") == true)
        let items = "allowed_origins: [" + String(repeating: "a,", count: 200_000) + "]"
        #expect(problems(items).first?.contains("too many values") == true)
    }

    @Test("Invalid UTF-8, invalid characters and invalid escapes are refused")
    func bytes() throws {
        let reader = FileReader { (_, _) in FileReader.Contents(bytes: [0x61, 0x3A, 0x20, 0xFF]) }
        let error = try #require(throws: ConfigurationErrors.self) {
            try ConfigurationLoader(settings, files: reader).load(file: nil, environment: [:])
        }
        #expect(error.problems.first?.reason == "is not UTF-8")
        for text in ["a: \u{0}", "a: \"\\ud800\"", "a: \u{FFFE}", "%YAML 9.9\n---\n", "a: \"\\q\""] {
            #expect(!problems(text).isEmpty, "\(text.debugDescription)")
        }
    }

    @Test("A truncated or damaged file is read or refused, without a crash")
    func garbled() throws {
        let text = Array(
            "http: {port: 80, host: \"a\"}\nzenkey:\n  clients:\n    - {id: 'a', secret: \"\\u0041\"}\n".utf8)
        for position in text.indices {
            _ = problems(String(decoding: text[..<position], as: UTF8.self))
            for byte in "[}&*\"\t:\u{0}".utf8 {
                var copy = text
                copy[position] = byte
                _ = problems(String(decoding: copy, as: UTF8.self))
            }
        }
    }
}
