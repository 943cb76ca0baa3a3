import Foundation
import TestSupport
import Testing

/// The page of built-in limits, and the sources that it is written from.
@Suite struct LimitsDocumentTests {
    private static let page = "docs/reports/limits.md"
    /// Not the settings, which another page has, nor what is for developers.
    private static let modules = Result {
        try FileManager.default.contentsOfDirectory(atPath: Repository.path("Sources")).sorted().filter {
            ![
                "CarrierSimulator", "ConformanceKit", "LatchkeyConfiguration", "LatchkeyDemo", "latchkey-dev",
            ].contains($0)
        }
    }

    private static let introduction = """
        # Built-in limits

        This page lists the numbers in the sources that no setting changes, or that are the default of one: limits,
        lifetimes, counts and pauses. Times without a unit are in seconds, sizes in bytes, unless the last column says
        otherwise. `make limits` writes it from the sources. So a limit that is changed by mistake is noticed.


        """

    /// The row of a constant, or the rows of default values, with digits and nothing of a text in it.
    private static func rows(of line: Substring, meaning: String) -> [String] {
        let parts = line.components(separatedBy: " = ")
        guard parts.count > 1 else { return [] }
        let words = parts[0].split(separator: " ")
        guard words.contains("let") || words.contains("var") else {
            return line.matches(
                of: /(\w+): (?:Int|Int64|UInt64|Double|Duration) = ([^,"{}()]*(?:\(\d+\)|[1-9][\d_]*)(?: << \d+)?)/
            )
            .map { "`\($0.1)` | `\($0.2)` | |" }
        }
        let isConstant = words.contains("static") && words.contains("let")
        guard isConstant || words.contains("var") && (words[0] == "public" || words[0] == "package"), parts.count == 2
        else { return [] }
        let value = parts[1].components(separatedBy: "  //")[0]
        guard value.contains(where: { ("1"..."9").contains($0) }), !value.contains(where: { "\"{}[]".contains($0) })
        else { return [] }
        let name = words.first { $0.hasSuffix(":") }?.dropLast() ?? words[words.count - 1]
        return ["`\(name)` | `\(value)` | \(meaning) |"]
    }

    private static func table(of module: String) throws -> String {
        let files =
            FileManager.default.enumerator(atPath: Repository.path("Sources/\(module)"))?
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted() ?? []
        var rows: [String] = []
        for file in files {
            var meaning: [Substring] = []
            for line in try Repository.text("Sources/\(module)/\(file)").split(separator: "\n") {
                let code = line.drop { $0 == " " }
                if code.hasPrefix("///") {
                    meaning.append(code.dropFirst(3).drop { $0 == " " })
                    continue
                }
                let sentence = meaning.joined(separator: " ").split(separator: "|").joined(separator: "\\|")
                if !code.hasPrefix("//") {
                    rows += Self.rows(of: code, meaning: sentence).map { "| \(file.dropLast(".swift".count)) | \($0)" }
                }
                meaning = []
            }
        }
        return rows.isEmpty
            ? ""
            : "## \(module)\n\n| file | name | value | what it is |\n|---|---|---|---|\n" + rows.joined(separator: "\n")
    }

    @Test("The committed page lists every limit with its value (make limits writes it)")
    func document() throws {
        let tables = try Self.modules.get().map(Self.table).filter { !$0.isEmpty }
        let expected = Self.introduction + tables.joined(separator: "\n\n") + "\n"
        #expect(expected.split(separator: "\n").count > 200)
        if ProcessInfo.processInfo.environment["LATCHKEY_LIMITS"] == "write" {
            try expected.write(toFile: Repository.path(Self.page), atomically: true, encoding: .utf8)
            return
        }
        let written = Set(try Repository.text(Self.page).split(separator: "\n"))
        let changed = expected.split(separator: "\n").filter { !written.contains($0) }
        #expect(changed == [], "the sources have other limits than \(Self.page)")
        #expect(try Repository.text(Self.page) == expected, "\(Self.page) is out of date: make limits")
    }
}
