import OpenIDConnect
import Primitives

/// An explained ID token, for people to read.
public struct TokenReport: Sendable {
    public enum Outcome: Sendable, Hashable {
        case accepted
        case refused
        /// No check failed, but not all could be made.
        case undecided
    }

    public let outcome: Outcome
    private let explanation: IDTokenExplanation
    private let heading: String

    init(
        _ explanation: IDTokenExplanation, issuer: String, clientID: ClientID, moment: Timestamp, isNow: Bool
    ) {
        self.explanation = explanation
        outcome = explanation.isAccepted ? .accepted : explanation.isRefused ? .refused : .undecided
        let time = UTCTime.text(moment) + (isNow ? " (now)" : "")
        heading = "An ID token for client \(clientID.text) from \(issuer), at \(time):"
    }

    /// The checks, one line each, with what a failed one demands; no personal data.
    public var text: String {
        var lines = [heading, ""]
        for step in explanation.steps {
            lines.append("\(step.verdict.label)  \(padded(step.check.rawValue))  \(step.found)")
            if step.verdict == .failed { lines.append("\(String(repeating: " ", count: 24))\(step.check.demand)") }
        }
        return (lines + ["", conclusion, ""]).joined(separator: "\n")
    }

    /// All that the token says, a line for each member of header and claims. Personal.
    public var claimsText: String {
        func lines(_ object: JSONObject?) -> [String] {
            guard let object else { return ["  (cannot be read)"] }
            return object.members.map { "  \(ShownLine.text($0.name)): \(ShownLine.text($0.value.text))" }
        }
        let caution = outcome == .accepted ? "" : " (not to be believed: the token was not accepted)"
        return (["Header:"] + lines(explanation.header) + ["Claims\(caution):"] + lines(explanation.claims) + [""])
            .joined(separator: "\n")
    }

    private var conclusion: String {
        let names = { (verdict: IDTokenExplanation.Verdict) in
            explanation.steps.filter { $0.verdict == verdict }.map(\.check.rawValue).joined(separator: ", ")
        }
        return switch outcome {
        case .accepted: "Accepted: every check passed."
        case .refused: "Refused: \(names(.failed))."
        case .undecided: "Undecided: nothing failed, but these could not be checked: \(names(.notPossible))."
        }
    }

    private func padded(_ name: String) -> String {
        name + String(repeating: " ", count: max(0, 16 - name.utf8.count))
    }
}

extension IDTokenExplanation.Verdict {
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
