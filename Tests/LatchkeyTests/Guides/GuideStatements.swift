import Foundation
import TestSupport

/// `Tests/Guides/statements.txt`: what the guides ask of a backend, and the tests that show it.
struct GuideStatements {
    /// A section of a guide.
    struct Section: Hashable, CustomStringConvertible {
        /// `000` to `004`
        let guide: String
        let section: String

        var description: String { "\(guide) \(section)" }
    }

    /// A test, and the row of its table that the statement is about.
    struct Proof {
        let test: String
        let row: String?
    }

    struct Statement {
        let sections: [Section]
        let text: String
        let proofs: [Proof]
        /// The setting that it needs.
        let setting: String?
    }

    struct Chapter {
        let title: String
        var statements: [Statement] = []
    }

    struct Malformed: Error, CustomStringConvertible {
        let block: String
        let reason: String
        var description: String { "\(reason): \(block)" }
    }

    static let path = "Tests/Guides/statements.txt"
    /// The ZenKey guides.
    static let zenKey = ["000", "001", "003"]

    private(set) var chapters: [Chapter] = []
    /// The sections that ask nothing of a backend, and the reasons.
    private(set) var others: [(sections: [Section], reason: String)] = []

    var statements: [Statement] { chapters.flatMap(\.statements) }

    init() throws {
        let lines = try Repository.text(Self.path).split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("#") }
        for block in lines.split(whereSeparator: \.isEmpty) {
            let block = block.map(String.init)
            if let title = block.first?.after("== ") {
                chapters.append(Chapter(title: title))
            } else if block.first?.hasPrefix("-- ") == true {
                for line in block { others.append(try Self.other(line)) }
            } else if chapters.isEmpty {
                throw Malformed(block: block.joined(separator: " / "), reason: "a chapter is missing")
            } else {
                chapters[chapters.count - 1].statements.append(try Self.statement(block))
            }
        }
    }

    /// `-- SECTIONS: REASON`
    private static func other(_ line: String) throws -> ([Section], String) {
        guard let text = line.after("-- "), let colon = text.firstRange(of: ": ") else {
            throw Malformed(block: line, reason: "not `-- SECTIONS: REASON`")
        }
        return (try sections(String(text[..<colon.lowerBound])), String(text[colon.upperBound...]))
    }

    /// Lines of text; `@ SECTIONS`; `> TARGET/SUITE.FUNCTION`, with `: ROW` after it; `if SETTING`.
    private static func statement(_ block: [String]) throws -> Statement {
        var text: [String] = []
        var sections: [Section] = []
        var proofs: [Proof] = []
        var setting: String?
        for line in block {
            if let given = line.after("@ ") {
                sections += try Self.sections(given)
            } else if let given = line.after("> ") {
                let parts = given.split(separator: ":", maxSplits: 1).map(String.init)
                proofs.append(
                    Proof(test: parts[0], row: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : nil))
            } else if let given = line.after("if ") {
                setting = given
            } else {
                text.append(line)
            }
        }
        guard !text.isEmpty, !sections.isEmpty, !proofs.isEmpty else {
            throw Malformed(block: block.joined(separator: " / "), reason: "the text, a section or a test is missing")
        }
        return Statement(sections: sections, text: text.joined(separator: " "), proofs: proofs, setting: setting)
    }

    /// `zenkey 6.2, 002 Failure`: with commas between them; `zenkey` is each of the three versions.
    private static func sections(_ text: String) throws -> [Section] {
        try text.split(separator: ",").flatMap { item -> [Section] in
            let parts = item.drop { $0 == " " }.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw Malformed(block: text, reason: "not `GUIDE SECTION`") }
            let guides = parts[0] == "zenkey" ? zenKey : [parts[0]]
            return guides.map { Section(guide: $0, section: parts[1]) }
        }
    }
}

extension String {
    fileprivate func after(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
