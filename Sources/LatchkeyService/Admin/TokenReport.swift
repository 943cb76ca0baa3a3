import OpenIDConnect
import Primitives

/// An explained token, for people to read.
public struct TokenReport: Sendable {
    public enum Outcome: Sendable, Hashable {
        case accepted
        case refused
        /// No check failed, but not all could be made.
        case undecided
    }

    /// A check and what became of it.
    private struct Row: Sendable {
        let name: String
        let demand: String
        let verdict: TokenVerdict
        let found: String
    }

    public let outcome: Outcome
    private let heading: String
    private let rows: [Row]
    private let header: JSONObject?
    private let claims: JSONObject?
    /// What is to be thought of beside, where the token is accepted.
    private let caution: String?

    init<Check>(_ explanation: TokenExplanation<Check>, heading: String, caution: String? = nil) {
        outcome = explanation.isAccepted ? .accepted : explanation.isRefused ? .refused : .undecided
        self.heading = heading
        rows = explanation.steps.map {
            Row(name: $0.check.rawValue, demand: $0.check.demand, verdict: $0.verdict, found: $0.found)
        }
        header = explanation.header
        claims = explanation.claims
        self.caution = caution
    }

    /// The checks, one line each, with what a failed one demands; no personal data.
    public var text: String {
        var lines = [heading, ""]
        for row in rows {
            lines.append("\(row.verdict.label)  \(padded(row.name))  \(row.found)")
            if row.verdict == .failed { lines.append("\(String(repeating: " ", count: 24))\(row.demand)") }
        }
        return (lines + ["", conclusion, ""]).joined(separator: "\n")
    }

    /// All that the token says, a line for each member of header and claims. Personal.
    public var claimsText: String {
        func lines(_ object: JSONObject?) -> [String] {
            guard let object else { return ["  (cannot be read)"] }
            return object.members.map { "  \(ShownLine.text($0.name)): \(ShownLine.text($0.value.text))" }
        }
        let doubt = outcome == .accepted ? "" : " (not to be believed: the token was not accepted)"
        return (["Header:"] + lines(header) + ["Claims\(doubt):"] + lines(claims) + [""]).joined(separator: "\n")
    }

    private var conclusion: String {
        let names = { (verdict: TokenVerdict) in
            rows.filter { $0.verdict == verdict }.map(\.name).joined(separator: ", ")
        }
        return switch outcome {
        case .accepted: "Accepted: every check passed." + (caution.map { " \($0)" } ?? "")
        case .refused: "Refused: \(names(.failed))."
        case .undecided: "Undecided: nothing failed, but these could not be checked: \(names(.notPossible))."
        }
    }

    private func padded(_ name: String) -> String {
        name + String(repeating: " ", count: max(0, 16 - name.utf8.count))
    }
}

// Neither `print` nor interpolation nor reflection shows what the token claims.
extension TokenReport: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "TokenReport(outcome: \(outcome))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["outcome": outcome]) }
}

extension TokenVerdict {
    fileprivate var label: String {
        switch self {
        case .passed: "pass"
        case .failed: "FAIL"
        case .notPossible: "  - "
        }
    }
}

/// Foreign texts as they may be shown on a terminal.
enum ShownLine {
    static func text(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(2000) {
            let category = scalar.properties.generalCategory
            let isUnsafe = [.control, .format, .lineSeparator, .paragraphSeparator].contains(category)
            line.unicodeScalars.append(isUnsafe ? "\u{FFFD}" : scalar)
        }
        return text.unicodeScalars.count > 2000 ? line + "…" : line
    }
}
