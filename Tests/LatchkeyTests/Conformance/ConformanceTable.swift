import Foundation
import TestSupport
import Testing

/// `docs/reports/conformance.md`: the cases and their observed results.
enum ConformanceTable {
    /// With the value `write`, a run of all cases writes the table.
    static let variable = "LATCHKEY_CONFORMANCE_TABLE"

    private static let path = Repository.path("docs/reports/conformance.md")

    static var isToBeWritten: Bool { ProcessInfo.processInfo.environment[variable] == "write" }

    /// The committed cases and verdicts, in order; cases that do not apply have the verdict `–`.
    static func committed() throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 2, cells[0].hasPrefix("`") else { return nil }
            return cells[0] + " " + cells[1]
        }
    }

    /// The expected cases and verdicts.
    static var expected: [String] {
        ConformanceCases.sections.flatMap { section in
            section.cases.map { "`\($0.id)` \($0.verdict.rawValue)" } + section.others.map { "`\($0.id)` –" }
        }
    }

    /// After a run of all cases: writes the table if requested, otherwise compares it with the results.
    static func settle(_ outcomes: [String: Outcome]) throws {
        guard outcomes.count == ConformanceCases.all.count else { return }
        let seen = text(outcomes)
        if isToBeWritten { return try Data(seen.utf8).write(to: URL(fileURLWithPath: path)) }
        let committed = try String(contentsOfFile: path, encoding: .utf8)
        let changes = seen.split(separator: "\n").difference(from: committed.split(separator: "\n"))
        #expect(changes.isEmpty, "docs/reports/conformance.md differs from the run; make conformance-table writes it")
    }

    private static func text(_ outcomes: [String: Outcome]) -> String {
        var lines = [introduction]
        for section in ConformanceCases.sections {
            lines += ["## \(section.title)", ""]
            if !section.cases.isEmpty {
                lines += ["| case | verdict | status | token posts | key fetches | userinfo |"]
                lines += ["|---|---|---|---:|---:|---:|"]
                lines += section.cases.compactMap { row in outcomes[row.id].map { line(row, $0) } }
                lines += [""]
            }
            guard !section.others.isEmpty else { continue }
            lines += ["| case | verdict | why it does not apply |", "|---|---|---|"]
            lines += section.others.map { "| `\($0.id)` | – | \($0.reason) |" }
            lines += [""]
        }
        return lines.joined(separator: "\n")
    }

    private static func line(_ row: ConformanceCase, _ seen: Outcome) -> String {
        var statuses: [String] = []
        for status in Set(seen.statuses).sorted() {
            let count = seen.statuses.count { $0 == status }
            statuses.append(count == 1 ? "\(status)" : "\(count) × \(status)")
        }
        return "| `\(row.id)` | \(seen.verdict.rawValue) | \(statuses.joined(separator: ", ")) | \(seen.tokenPosts) | "
            + "\(keyFetches(row, seen)) | \(seen.userInfoCalls) |"
    }

    /// The number, or the upper bound if the number depends on timing.
    private static func keyFetches(_ row: ConformanceCase, _ seen: Outcome) -> String {
        guard let range = row.keyFetches, range.count > 1 else { return "\(seen.keyFetches)" }
        return "≤ \(range.upperBound)"
    }

    private static let introduction = """
        # Conformance

        The behaviour of Latchkey with carriers that are correct but unusual, wrong, or hostile. Each case is a sign-in
        through the HTTP API of one server process that runs all cases: with a code, by redirects, by backchannel
        authentication, or the approval of a transaction. Before the case, the same sign-in must succeed at a correct
        carrier of the same kind. After the case, a clean sign-in must succeed at once at the carrier of the case. If
        the carrier's wrong response is cached, the clean sign-in is at another carrier, and at this one after the cache
        time. No case may create a session that it should not, show a code, token or `sub` in a response or the log,
        request an address that only a trap names, use 64 MiB more memory than before, or take longer than the deadline
        of a request to a carrier plus one second.

        Verdicts: `OK` is 200 with a session, or the redirect that announces one; `REJ` is 401, or the redirect with the
        error, and the tokens of the response are not used; `UP` is 502, or 504 at the deadline; `CFG` is the same
        before any token request; `CB` is an error at the callback, or before the browser is sent to the carrier,
        with no token request; `400` is an invalid request of the app; `WAIT` is a backchannel authentication that
        stays pending; `OUT` is 200, or the redirect or page after a logout, with the session ended; `–` does not
        apply. The other columns count the requests at the case's own carrier; logouts are those of an OpenID
        provider that is not a carrier.

        `make conformance-table` writes this file from a run; `make test` fails if a run differs from it.

        """
}
