import Foundation
import TestSupport

/// `docs/reports/guides.md`: the statements of the guides, with the tests that show each.
struct GuidesDocument {
    static let path = "docs/reports/guides.md"
    /// With the value `write`, the test writes the page.
    static let variable = "LATCHKEY_GUIDES"

    let statements: GuideStatements
    let catalog: TestCatalog

    var text: String {
        var lines = [Self.introduction]
        for chapter in statements.chapters {
            lines += [
                "## \(chapter.title)", "", "| statement | guide | how it is tested | verdict |", "|---|---|---|---|",
            ]
            lines += chapter.statements.map(line)
            lines += [""]
        }
        lines += ["## Sections that ask nothing of a backend", "", "| guide | reason |", "|---|---|"]
        lines += statements.others.map { "| \(Self.names($0.sections)) | \($0.reason) |" }
        return lines.joined(separator: "\n") + "\n"
    }

    private func line(_ statement: GuideStatements.Statement) -> String {
        let proofs = statement.proofs.map { proof in
            let test = catalog.tests[proof.test]
            let name = proof.test.split(separator: "/").last ?? ""
            let row = proof.row.map { ", “\($0)”" } ?? ""
            return "\(test?.title ?? "")\(row) ([`\(name)`](../../\(test?.file ?? "")))"
        }
        let verdict = statement.setting.map { "yes, with `\($0)`" } ?? "yes"
        return
            "| \(statement.text) | \(Self.names(statement.sections)) | \(proofs.joined(separator: "; ")) | \(verdict) |"
    }

    /// `000, 001, 003: 6.2, 7.0`: guides with the same sections together.
    private static func names(_ sections: [GuideStatements.Section]) -> String {
        let ofGuides = Dictionary(grouping: sections, by: \.guide).mapValues {
            $0.map(\.section).joined(separator: ", ")
        }
        let guides = Dictionary(grouping: ofGuides.keys.sorted()) { ofGuides[$0] ?? "" }
        return guides.sorted { $0.value[0] < $1.value[0] }
            .map { "\($0.value.joined(separator: ", ")): \($0.key)" }.joined(separator: "; ")
    }

    private static let introduction = """
        # Guides

        This page lists what the guides for apps ask of a backend, in our words. A row has what a backend must support,
        the guide and the section that say so, and the tests that show it. “yes” means that
        these tests pass: `make test` runs all of them, and fails if a row names none that exists, or if this page is
        not current. A setting in the last column differs from its default.

        | guide | |
        |---|---|
        | 000 | ZenKey, iOS Integration Guide, document version 0.0.03 of May 2020 |
        | 001 | ZenKey, iOS Integration Guide, document version 0.9.21 of January 2020 |
        | 002 | Zephr, OAuth on iOS using the Swift SDK |
        | 003 | ZenKey, iOS Integration Guide, document version 0.0.02 of March 2020 |
        | 004 | Zoom, PKCE OAuth and the Meeting SDK for iOS |

        `make guides` writes this file from `Tests/Guides/statements.txt`.

        """
}
