import Foundation
import TestSupport

/// The tests of this package, as their sources declare them.
struct TestCatalog {
    struct Test {
        /// `Target/Suite.function`
        let name: String
        /// What it says, with the name of its suite before it where it begins with that.
        let title: String
        /// From the root of the repository.
        let file: String
    }

    private(set) var tests: [String: Test] = [:]
    /// The sources of each target.
    private var sources: [String: [String]] = [:]

    init() throws {
        let root = Repository.root.appendingPathComponent("Tests").path
        let files = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
        for file in files.sorted() where file.hasSuffix(".swift") {
            guard let target = file.split(separator: "/").first.map(String.init) else { continue }
            let text = try String(contentsOfFile: root + "/" + file, encoding: .utf8)
            sources[target, default: []].append(text)
            read(text, target: target, file: "Tests/" + file)
        }
    }

    /// Whether a row of a test's table, or a case of its enumeration, is in the sources of its target.
    func hasRow(_ text: String, in test: Test) -> Bool {
        let target = test.name.prefix { $0 != "/" }
        return sources[String(target)]?.contains { $0.contains(text) } ?? false
    }

    private mutating func read(_ text: String, target: String, file: String) {
        var suite = ""
        var suiteTitle: String?
        var nextSuiteTitle: String?
        var title: String?
        var isTest = false
        for line in text.split(separator: "\n") {
            let words = line.drop { $0 == " " }
            if line.hasPrefix("@Suite") { nextSuiteTitle = Self.quoted(words) }
            if let name = Self.typeName(line) {
                suite = name
                suiteTitle = nextSuiteTitle
                nextSuiteTitle = nil
            }
            if words.hasPrefix("@Test") {
                isTest = true
                title = nil
            }
            guard isTest else { continue }
            title = title ?? Self.quoted(words)
            guard let mark = words.firstRange(of: "func ") else { continue }
            let function = words[mark.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            let name = "\(target)/\(suite).\(function)"
            tests[name] = Test(name: name, title: Self.joined(suiteTitle, title ?? String(function)), file: file)
            isTest = false
        }
    }

    /// The name of a type that is declared at the start of a line.
    private static func typeName(_ line: Substring) -> String? {
        guard line.first?.isWhitespace == false else { return nil }
        let words = line.split(separator: " ")
        guard let place = words.firstIndex(where: { ["struct", "class", "enum", "extension", "actor"].contains($0) }),
            place + 1 < words.count, !words[..<place].contains(where: { $0.hasPrefix("//") })
        else { return nil }
        return String(words[place + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }

    /// The first string literal of a line that begins with one, or with an attribute.
    private static func quoted(_ words: Substring) -> String? {
        guard words.hasPrefix("@Test(\"") || words.hasPrefix("@Suite(\"") || words.hasPrefix("\""),
            let start = words.firstIndex(of: "\"")
        else { return nil }
        return String(words[words.index(after: start)...].prefix { $0 != "\"" })
    }

    /// A suite named “A sign-in” has tests such as “ends after an hour”.
    private static func joined(_ suite: String?, _ title: String) -> String {
        guard let suite, title.first?.isLowercase == true else { return title }
        return "\(suite) \(title)"
    }
}
