import Foundation
import TestSupport
import Testing

/// `docs/conformance.md`: what the cases are and what was seen of them.
enum ConformanceTable {
    /// Set to `write`, the run of all cases writes the table.
    static let variable = "LATCHKEY_CONFORMANCE_TABLE"

    private static let path = Repository.path("docs/conformance.md")

    static var isToBeWritten: Bool { ProcessInfo.processInfo.environment[variable] == "write" }

    /// Cases and their verdicts as committed, in their order; those that do not apply have the verdict `–`.
    static func committed() throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 2, cells[0].hasPrefix("`") else { return nil }
            return cells[0] + " " + cells[1]
        }
    }

    /// Cases and their verdicts as they should be.
    static var expected: [String] {
        ConformanceCases.sections.flatMap { section in
            section.cases.map { "`\($0.id)` \($0.verdict.rawValue)" } + section.others.map { "`\($0.id)` –" }
        }
    }

    /// After a run of all cases: writes the table if that is asked for, else compares what was seen with it.
    static func settle(_ outcomes: [String: Outcome]) throws {
        guard outcomes.count == ConformanceCases.all.count else { return }
        let seen = text(outcomes)
        if isToBeWritten { return try Data(seen.utf8).write(to: URL(fileURLWithPath: path)) }
        let committed = try String(contentsOfFile: path, encoding: .utf8)
        let changes = seen.split(separator: "\n").difference(from: committed.split(separator: "\n"))
        #expect(changes.isEmpty, "make conformance-table writes docs/conformance.md anew")
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
        return "| `\(row.id)` | \(seen.verdict.rawValue) | \(statuses.joined(separator: ", ")) "
            + "| \(seen.tokenPosts) | \(keyFetches(row, seen)) | \(seen.userInfoCalls) |"
    }

    /// The number, or how many there may be where that is a matter of time.
    private static func keyFetches(_ row: ConformanceCase, _ seen: Outcome) -> String {
        guard let range = row.keyFetches, range.count > 1 else { return "\(seen.keyFetches)" }
        return "≤ \(range.upperBound)"
    }

    private static let introduction = """
        # Conformance

        What Latchkey does with carriers that are right in unusual ways, wrong, or hostile. Each case is a sign-in through
        the HTTP API of one built server that runs from the first case to the last: with a code, by redirects, on the phone,
        or the approval of a transaction, as the case wants it. Before it the same sign-in at a carrier of the same kind that
        does nothing wrong must succeed, and straight after it a clean one at the carrier that did wrong. Where what that
        one said is kept for a while as it should be, the clean one is at another, and at this one when the while is over. No
        case may sign anybody in who should not be, tell a code, token or `sub` in an answer or the log, ask an address that
        only a trap names, take 64 MiB more than before, or make anybody wait longer than the deadline of a request to a
        carrier and a second.

        Verdicts: `OK` is 200 with a session, or the redirect that tells of one; `REJ` is 401, or the redirect that tells why,
        and nothing is asked with what the bad token brought; `UP` is 502, or 504 at the deadline; `CFG` is the same before
        any token request; `CB` is refused where the browser comes back, before any token request for it; `400` asks the app
        to do something else; `WAIT` is a sign-in on the phone that goes on waiting; `OUT` is 200, or the redirect or page of
        who comes back, with the session over; `–` does not apply. The other columns are what the case's own carrier saw;
        logouts are of an OpenID provider beside the carriers.

        `make conformance-table` writes this file from a run; `make test` fails where a run differs from it.

        """
}
