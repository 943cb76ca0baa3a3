/// A fault or an unsafe setting of a configuration. Never holds a secret.
public struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The key as in the file (`http.port`), with an index in lists (`zenkey.clients[0].id`); empty for the whole file.
    public let key: String
    /// The place of the value.
    public let origin: ConfigurationOrigin
    public let reason: String
    public let remedy: String

    package init(key: String, origin: ConfigurationOrigin = .none, reason: String, remedy: String) {
        self.key = key
        self.origin = origin
        self.reason = reason
        self.remedy = remedy
    }

    /// One line: `http.port: 70000 is not a whole number from 0 to 65535; give one [Config/latchkey.yaml line 3]`.
    public var description: String {
        let subject = key.isEmpty ? "configuration file" : key
        return "\(subject): \(reason); \(remedy)\(place)"
    }

    /// The origin behind a text; empty if there is none.
    package var place: String { origin == .none ? "" : " [\(origin)]" }
}

/// All problems of a configuration.
public struct ConfigurationErrors: Error, Sendable, Hashable, CustomStringConvertible {
    /// Those of the file by line, then the others in the order of the keys' reference; at most ``limit``.
    public let problems: [ConfigurationProblem]
    /// The number of further problems.
    public let omitted: Int
    /// What was warned of beside them.
    public let warnings: [ConfigurationProblem]

    /// The file that would have been read if it existed; nil if one was read, or if no problem comes from its absence.
    let missingFile: String?

    /// The most problems that are kept, so that a file full of errors does not fill the memory or the screen.
    public static let limit = 100

    init(_ problems: ProblemList, warnings: ProblemList, missingFile: String? = nil) {
        // A stable sort: several problems of one line stay in their order.
        let lines = problems.problems.enumerated().map { (line: $1.origin.line ?? .max, index: $0, problem: $1) }
        self.problems = lines.sorted { ($0.line, $0.index) < ($1.line, $1.index) }.map(\.problem)
        omitted = problems.omitted
        self.warnings = warnings.problems
        let lacksKeys = problems.problems.contains { $0.origin == .none }
        self.missingFile = lacksKeys ? missingFile : nil
    }

    /// One line for each problem, and before them one that says so if there is no file.
    public var description: String {
        var lines = problems.map(\.description)
        if let missingFile {
            lines.insert(
                "No configuration file was read: there is no \(missingFile) here. Name one with --config.", at: 0)
        }
        if omitted > 0 { lines.append("… and \(omitted) more") }
        return lines.joined(separator: "\n")
    }
}

package struct ProblemList: Sendable {
    private(set) var problems: [ConfigurationProblem] = []
    private(set) var omitted = 0

    /// The number of problems found, kept or not.
    package var count: Int { problems.count + omitted }
    var isFull: Bool { problems.count >= ConfigurationErrors.limit }

    mutating func add(_ key: String, _ origin: ConfigurationOrigin, _ reason: String, _ remedy: String) {
        guard !isFull else {
            omitted += 1
            return
        }
        problems.append(ConfigurationProblem(key: key, origin: origin, reason: reason, remedy: remedy))
    }
}
