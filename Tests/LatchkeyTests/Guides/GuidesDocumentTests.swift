import Foundation
import TestSupport
import Testing

/// `docs/reports/guides.md` is complete and current.
@Suite struct GuidesDocumentTests {
    private let statements: GuideStatements
    private let catalog: TestCatalog

    init() throws {
        statements = try GuideStatements()
        catalog = try TestCatalog()
    }

    @Test("docs/reports/guides.md is current (make guides writes it)")
    func current() throws {
        let text = GuidesDocument(statements: statements, catalog: catalog).text
        if ProcessInfo.processInfo.environment[GuidesDocument.variable] == "write" {
            return try Data(text.utf8).write(to: Repository.root.appendingPathComponent(GuidesDocument.path))
        }
        #expect(try Repository.text(GuidesDocument.path) == text, "make guides writes docs/reports/guides.md")
    }

    @Test("Every test that a statement names exists, and so does the row of its table")
    func tests() {
        for statement in statements.statements {
            for proof in statement.proofs {
                guard let test = catalog.tests[proof.test] else {
                    Issue.record("\(GuideStatements.path) names \(proof.test), which is no test: \(statement.text)")
                    continue
                }
                guard let row = proof.row else { continue }
                #expect(catalog.hasRow(row, in: test), "\(proof.test) has no row “\(row)”: \(statement.text)")
            }
        }
        #expect(statements.statements.count > 100)
    }

    @Test("A statement is there once, in plain text, and names each section once")
    func wellFormed() {
        var seen: Set<String> = []
        for statement in statements.statements {
            #expect(seen.insert(statement.text).inserted, "\(statement.text) is repeated")
            #expect(!statement.text.contains("|") && statement.text.hasSuffix("."), "\(statement.text)")
            #expect(Set(statement.sections).count == statement.sections.count, "\(statement.text)")
        }
    }

    /// The guides themselves, if they lie beside the repository, as for `make conformance`.
    private static let folder = Repository.root.deletingLastPathComponent().appendingPathComponent("shared/seeds")
    private static var files: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    }

    @Test("Every section of the guides has a statement, or a reason why it has none", .enabled(if: !files.isEmpty))
    func complete() throws {
        let named = Set(statements.statements.flatMap(\.sections) + statements.others.flatMap(\.sections))
        for guide in ["000", "001", "002", "003", "004"] {
            // The readable form of a guide counts, if there is one.
            let file = try #require(Self.files.filter { $0.hasPrefix(guide) }.max(), "guide \(guide)")
            let text = try String(contentsOf: Self.folder.appendingPathComponent(file), encoding: .utf8)
            let lines = text.split(separator: "\n").map { $0.drop { $0 == "#" || $0 == " " } }
            let numbered = lines.compactMap { try? /(\d+\.\d+(?:\.\d+)?) ?[A-Z].*/.wholeMatch(in: $0)?.1 }.map(
                String.init)
            for section in numbered {
                #expect(named.contains(.init(guide: guide, section: section)), "\(guide) \(section) has no statement")
            }
            let all = Set(numbered).union(lines.map(String.init))
            for section in named where section.guide == guide {
                #expect(all.contains(section.section), "\(section) is no section")
            }
        }
    }
}
