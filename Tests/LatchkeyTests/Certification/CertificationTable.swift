import Foundation
import TestSupport
import Testing

/// `docs/reports/certification.md`: the modules of all plans, and what was seen.
enum CertificationTable {
    struct Row: Hashable, Sendable {
        let plan: String
        let module: String
    }

    /// With the value `write`, a run of all plans writes the page.
    static let variable = "LATCHKEY_CERTIFICATION_TABLE"

    private static let path = Repository.path("docs/reports/certification.md")

    static var isToBeWritten: Bool { ProcessInfo.processInfo.environment[variable] == "write" }

    /// The modules on the committed page, with their verdicts, in order.
    static func committed() throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[0].hasPrefix("`") else { return nil }
            return cells[0] + " " + cells[1]
        }
    }

    /// What the page must list.
    static var expected: [String] {
        CertificationPlan.all.flatMap { plan in
            plan.modules.map { "`\($0.name)` \($0.verdict)" }
                + plan.others.flatMap(\.names).map { "`\($0)` does not apply" }
        }
    }

    /// After a run of all plans: writes the page if requested, otherwise compares it with the results.
    static func settle(_ results: [Row: String]) throws {
        guard results.count == CertificationPlan.all.reduce(0, { $0 + $1.modules.count }) else { return }
        let seen = text(results)
        if isToBeWritten { return try Data(seen.utf8).write(to: URL(fileURLWithPath: path)) }
        let committed = try String(contentsOfFile: path, encoding: .utf8)
        let changes = seen.split(separator: "\n").difference(from: committed.split(separator: "\n"))
        #expect(
            changes.isEmpty, "docs/reports/certification.md differs from the run; make certification-table writes it")
    }

    private static func text(_ results: [Row: String]) -> String {
        var lines = [
            introduction, "| plan | passes | no verdict | does not apply |", "|---|---:|---:|---:|",
        ]
        for plan in CertificationPlan.all {
            let judged = plan.modules.count { $0.reasonWithoutVerdict == nil }
            lines += [
                "| \(plan.title) | \(judged) | \(plan.modules.count - judged) "
                    + "| \(plan.others.flatMap(\.names).count) |"
            ]
        }
        for plan in CertificationPlan.all {
            lines += ["", "## \(plan.title)", "", "`\(plan.name)`. \(plan.summary)", ""]
            lines += ["| module | verdict | what Latchkey does, or why it does not apply |", "|---|---|---|"]
            for module in plan.modules {
                let seen = results[Row(plan: plan.id, module: module.name)] ?? "?"
                let reason = module.reasonWithoutVerdict.map { ". \($0)" } ?? ""
                lines += ["| `\(module.name)` | \(module.verdict) | \(seen)\(reason) |"]
            }
            for others in plan.others {
                lines += others.names.map { "| `\($0)` | does not apply | \(others.reason) |" }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let introduction = """
        # Certification

        The modules of the OpenID Foundation's plans for relying parties, each made again from its public name and
        description as a test. Latchkey is not certified: this page is what a run of the Foundation's own suite is
        expected to show.

        One server process, configured by a file, runs the plans in which browsers sign in. The modules of FAPI-CIBA
        last up to two minutes, so each has a server inside the test, whose clocks the test moves. Each module has a
        provider of its own: a simulated one that shares no check with Latchkey. It verifies what the suite's provider
        verifies: the client's authentication by the one registered method, with the audience, times and single use of
        an assertion; the redirect URI, byte by byte; PKCE; that a code is redeemed once; pushed requests; DPoP proofs
        with their nonce, hash and single use; request objects; the pace of polls; the access token's place. A module
        fails if the provider refuses a request that the module does not make it refuse. After each module the user
        signs in at the same provider without the module's defect, so that nothing but the defect can be the reason.

        FAPI-CIBA demands access tokens that are bound to the client's TLS certificate. Its plans are here with them,
        for both ways in which a client authenticates, and with DPoP, which FAPI 2.0 allows in their place.

        *No verdict* are modules that the suite does not end, or does not have in a variant. What Latchkey does is
        shown here, and is no claim about the suite.

        A browser signs in by redirects, as in the suite. A refusal names the check that failed. No refused token is
        used for another request.

        `make certification-table` writes this page from a run; `make test` fails if a run differs from it.

        """
}
