import LatchkeyService
import Primitives

package struct DoctorReport: Sendable {
    /// One finding. Never holds a secret.
    package struct Finding: Sendable, Hashable {
        package enum Severity: String, Sendable, CaseIterable {
            case ok
            /// Works, but is unsafe or will fail soon.
            case warning
            /// Sign-ins fail because of it.
            case problem
        }

        package enum Area: String, Sendable, CaseIterable {
            case configuration
            case publicURL = "public_url"
            case apiKeys = "api_keys"
            case redirectURIs = "redirect_uris"
            case database
            case discovery
            case metadata
            case keys
            case endpoints
            case clock
            case certificates
        }

        package let severity: Severity
        package let area: Area
        /// The subject, such as a client, a network or a host; may be empty.
        package let subject: String
        package let message: String
        /// What to do; nil if nothing.
        package let remedy: String?

        static func ok(_ area: Area, _ subject: String, _ message: String) -> Finding {
            Finding(severity: .ok, area: area, subject: subject, message: message, remedy: nil)
        }

        static func warning(_ area: Area, _ subject: String, _ message: String, fix: String) -> Finding {
            Finding(severity: .warning, area: area, subject: subject, message: message, remedy: fix)
        }

        static func problem(_ area: Area, _ subject: String, _ message: String, fix: String) -> Finding {
            Finding(severity: .problem, area: area, subject: subject, message: message, remedy: fix)
        }
    }

    package let findings: [Finding]

    package init(_ findings: [Finding]) { self.findings = findings }

    package func count(_ severity: Finding.Severity) -> Int { findings.count { $0.severity == severity } }

    /// For people: a line for each finding, with its remedy below.
    package var text: String {
        var lines = findings.flatMap { finding -> [String] in
            let name = finding.severity.rawValue.padded(8) + finding.area.rawValue.padded(14)
            let subject = finding.subject.isEmpty ? "" : finding.subject + ": "
            let line = name + subject + finding.message
            guard let remedy = finding.remedy else { return [line] }
            return [line, String(repeating: " ", count: 22) + "fix: " + remedy]
        }
        lines.append("")
        lines.append("\(Self.number(count(.problem), "problem")), \(Self.number(count(.warning), "warning")).")
        return lines.joined(separator: "\n") + "\n"
    }

    /// For programs: one object on one line.
    package var json: String {
        JSONObjectWriter.text { json in
            json.add("problems", count(.problem))
            json.add("warnings", count(.warning))
            json.add("findings", objects: findings) { finding, json in
                json.add("severity", finding.severity.rawValue)
                json.add("area", finding.area.rawValue)
                json.add("subject", finding.subject)
                json.add("message", finding.message)
                json.add("fix", orNull: finding.remedy)
            }
        } + "\n"
    }

    private static func number(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}
