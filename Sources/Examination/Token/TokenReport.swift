import LatchkeyService
import OpenIDConnect
import Primitives

struct TokenReport: Sendable {
    enum Outcome: String, Sendable, Hashable {
        case accepted
        case refused
        /// No check failed, but some could not be made.
        case undecided
    }

    let outcome: Outcome
    private let heading: String
    private let rows: [(name: String, demand: String, verdict: TokenVerdict, found: String)]
    private let header: JSONObject?
    private let claims: JSONObject?
    /// Added to the conclusion if the token is accepted.
    private let caution: String?

    init<Check>(_ explanation: TokenExplanation<Check>, heading: String, caution: String? = nil) {
        outcome = explanation.isAccepted ? .accepted : explanation.isRefused ? .refused : .undecided
        self.heading = heading
        rows = explanation.steps.map { ($0.check.rawValue, $0.check.demand, $0.verdict, $0.found) }
        header = explanation.header
        claims = explanation.claims
        self.caution = caution
    }

    /// The checks, one line each, with the rule of a failed one; no personal data.
    var text: String {
        var lines = [heading, ""]
        for row in rows {
            let note = row.verdict == .notCompared ? "not compared: " : ""
            lines.append("\(row.verdict.label)  \(row.name.padded(18))\(note)\(row.found)")
            if row.verdict == .failed { lines.append("\(String(repeating: " ", count: 24))\(row.demand)") }
        }
        return (lines + ["", conclusion, ""]).joined(separator: "\n")
    }

    /// The outcome and the checks, for programs: one object on one line.
    /// - Parameter claims: Whether header and claims, which are personal data, are in it.
    func json(withClaims claims: Bool) -> String {
        JSONObjectWriter.text { json in
            json.add("outcome", outcome.rawValue)
            json.add("heading", String(heading.dropLast()))
            json.add("checks", objects: rows) { row, json in
                json.add("check", row.name)
                json.add("verdict", row.verdict.rawValue)
                json.add("found", row.found)
                if row.verdict == .failed { json.add("demand", row.demand) }
            }
            if claims {
                if let header { json.add("header", json: JSONValue.object(header).text) }
                if let claims = self.claims { json.add("claims", json: JSONValue.object(claims).text) }
            }
        }
    }

    /// The members of header and claims, one line each. Personal data.
    var claimsText: String {
        func lines(_ object: JSONObject?) -> [String] {
            guard let object else { return ["  (cannot be read)"] }
            return object.members.map { "  \($0.name.onOneLine()): \($0.value.text.onOneLine())" }
        }
        let doubt = outcome == .accepted ? "" : " (unverified: the token was not accepted)"
        return (["Header:"] + lines(header) + ["Claims\(doubt):"] + lines(claims) + [""]).joined(separator: "\n")
    }

    private var conclusion: String {
        switch outcome {
        case .accepted:
            // With what the acceptance does not say.
            "Accepted: every check passed"
                + (names(.notCompared).isEmpty
                    ? "" : "; not compared, because no expected value was given: \(names(.notCompared))")
                + "." + (caution.map { " \($0)" } ?? "")
        case .refused: "Refused: \(names(.failed))."
        case .undecided: "Undecided: nothing failed, but these could not be checked: \(names(.notPossible))."
        }
    }

    private func names(_ verdict: TokenVerdict) -> String {
        rows.filter { $0.verdict == verdict }.map(\.name).joined(separator: ", ")
    }
}

// Keeps the claims out of `print`, interpolation and reflection.
extension TokenReport: Redacted {
    var shown: [Mirror.Child] { [("outcome", outcome)] }
}

extension TokenVerdict {
    fileprivate var label: String {
        switch self {
        case .passed: "pass"
        case .failed: "FAIL"
        case .notCompared, .notPossible: "  - "
        }
    }
}
