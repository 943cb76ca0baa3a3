import Foundation
import TestSupport

/// `docs/reports/camara.md`: the scenarios and requirements, with what Latchkey does.
enum CAMARATable {
    /// With the value `write`, the tests write the page.
    static let variable = "LATCHKEY_CAMARA_TABLE"

    static let path = "docs/reports/camara.md"

    static var isToBeWritten: Bool { ProcessInfo.processInfo.environment[variable] == "write" }

    static func write() throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: Repository.path(path)))
    }

    static var text: String {
        var lines = [introduction]
        for (title, scenarios) in CAMARAScenarios.sections {
            lines += ["## \(title)", "", "| scenario | what it is about | verdict | |", "|---|---|---|---|"]
            lines += scenarios.map { row in
                "| `\(row.id)` | \(row.what) | \(row.check == nil ? "–" : "shown") | \(row.verdict) |"
            }
            lines += [""]
        }
        lines += [requirements, "| section | requirement | what Latchkey does |", "|---|---|---|"]
        lines += CAMARARequirements.all.map { "| \($0.id) | \($0.what) | \($0.verdict) |" }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let introduction = """
        # CAMARA's scenarios

        The test definitions of CAMARA's Number Verification r3.2 and SIM Swap r3.3 say how an operator answers. Each
        scenario here is a sign-in, or a verification of a signed-in user's number, through Latchkey's HTTP API at a
        simulated operator that answers so ([verified numbers](../verified-numbers.md) explains both). `shown`: a test
        named by the scenario passes; the last column says what Latchkey does. `–`: the scenario is the operator's own
        business, for the reason given.

        `Tests/LatchkeyTests/CAMARA` has the tests, and `make camara-table` writes this page.

        """

    private static let requirements = """
        ## What the profile demands of API consumers

        The CAMARA Security and Interoperability Profile r4.2. Each row is a test of `CAMARAScenarioTests`, against a
        simulated operator that refuses requests which break the rule, where it can see that. Tests of polls are in
        `OperatorTokenTests`, with a clock of their own.

        """
}
