import LatchkeyService
import Primitives

/// A capsule for people: first the cause and the failed checks, then one line for each value, and the other checks.
struct CapsuleReport {
    /// The members whose numbers are times: claims, and the bounds of checks.
    private static let times: Set = ["exp", "iat", "nbf", "auth_time", "at", "after", "from", "to", "until", "since"]

    private let content: JSONObject
    /// What times are compared with: when the ID token was checked, or else when the sign-in failed.
    private let moment: Timestamp

    init(of content: JSONObject, at time: Timestamp) {
        self.content = content
        moment = content["checks"]?.object?["at"]?.integer.map { Timestamp(secondsSinceEpoch: $0) } ?? time
    }

    var lines: [String] {
        var lines: [String] = []
        let cause = content["failure"]?.object?["cause"]?.string
        if let cause { lines.append("cause: \(cause)".onOneLine()) }
        let checks = content["checks"]?.object?["results"]?.array?.compactMap(\.object) ?? []
        lines += checks.filter { $0["verdict"]?.string == "failed" }.compactMap(line)
        for member in content.members where member.name != "checks" { add(member.value, member.name, to: &lines) }
        if let at = content["checks"]?.object?["at"] { add(at, "at", called: "checks.at", to: &lines) }
        lines += checks.filter { $0["verdict"]?.string != "failed" }.compactMap(line)
        return lines
    }

    private func line(of check: JSONObject) -> String? {
        guard let name = check["check"]?.string, let verdict = check["verdict"]?.string else { return nil }
        var line = "check \(name.padded(18)) \(verdict.padded(12))"
        for side in ["expected", "found"] {
            guard let value = check[side] else { continue }
            let members = value.object?.members.map { "\($0.name) \(text($0.value, named: $0.name))" }
            line += " \(side) \(members?.joined(separator: ", ") ?? value.text)"
        }
        return line.onOneLine()
    }

    /// - Parameter path: The names of the objects around the member, and its own; nil for its own alone.
    private func add(_ value: JSONValue, _ name: String, called path: String? = nil, to lines: inout [String]) {
        let path = Self.short(path ?? name)
        switch value {
        case .object(let object):
            for member in object.members {
                add(member.value, member.name, called: "\(path).\(member.name)", to: &lines)
            }
        case .array(let elements) where elements.contains(where: { $0.object != nil }):
            for (index, element) in elements.enumerated() {
                add(element, name, called: "\(path)[\(index)]", to: &lines)
            }
        case .string(let text): lines.append("\(path): \(text)".onOneLine())
        default: lines.append("\(path): \(text(value, named: name))".onOneLine())
        }
    }

    /// A row of the database may have names of any length, each with many members.
    private static func short(_ path: String) -> String {
        path.utf8.count <= 512 ? path : path.prefix(128) + "…"
    }

    /// A time as a date, and how much earlier or later it was; any other value as JSON.
    private func text(_ value: JSONValue, named name: String) -> String {
        guard Self.times.contains(name), let seconds = value.integer else { return value.text }
        let time = Timestamp(secondsSinceEpoch: seconds)
        let (date, difference) = (UTCTime.text(time), time.seconds(since: moment))
        guard difference != 0 else { return date }
        return "\(date) (\(Self.span(difference.magnitude)) \(difference < 0 ? "earlier" : "later"))"
    }

    /// Such as `1 h 30 s`.
    private static func span(_ seconds: UInt64) -> String {
        let parts = [
            (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s"),
        ]
        return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
