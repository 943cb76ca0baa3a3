import LatchkeyConfiguration

/// The bytes before the first NUL as a configuration file, and each line after it as an environment variable
/// (`NAME=value`).
enum ConfigurationTarget {
    private enum Outcome: Equatable {
        /// `values` are the sorted bytes of the configuration's description, because sets have no order.
        case accepted(warnings: [ConfigurationProblem], origins: [String: ConfigurationOrigin], values: [UInt8])
        case refused(ConfigurationErrors)
    }

    private static let path = "fuzz.yaml"
    private static let longestDescription = 4096

    static func read(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let file = Array(parts.first ?? [])
        let variables = environment(parts.count > 1 ? parts[1] : [])
        let outcome = read(file, variables, for: .serve)
        demand(outcome == read(file, variables, for: .serve), "a configuration is read the same way twice")
        switch outcome {
        case .accepted(let warnings, _, _):
            for warning in warnings { check(warning) }
            guard case .accepted = read(file, variables, for: .operation) else {
                return demand(false, "what serves is good for commands, too")
            }
        case .refused(let errors):
            demand(!errors.problems.isEmpty, "a refused configuration has a problem")
            demand(errors.problems.count <= ConfigurationErrors.limit, "problems are few")
            for problem in errors.problems { check(problem) }
        }
    }

    private static func environment(_ bytes: ArraySlice<UInt8>) -> [String: String] {
        var variables: [String: String] = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let pair = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            variables[String(decoding: pair[0], as: UTF8.self)] = String(decoding: pair[1], as: UTF8.self)
        }
        return variables
    }

    private static func read(
        _ file: [UInt8], _ variables: [String: String], for purpose: ConfigurationLoader.Purpose
    ) -> Outcome {
        let files = FileReader { (name, limit) throws(FileReader.ReadError) in
            let contents = name == path ? file : Array("a secret of a file\n".utf8)
            guard contents.count <= limit else { throw .tooLarge }
            return FileReader.Contents(bytes: contents)
        }
        do throws(ConfigurationErrors) {
            let loaded = try ConfigurationLoader(files: files).load(
                file: path, environment: variables, purpose: purpose)
            return .accepted(
                warnings: loaded.warnings, origins: loaded.origins,
                values: String(describing: loaded.configuration).utf8.sorted())
        } catch {
            return .refused(error)
        }
    }

    private static func check(_ problem: ConfigurationProblem) {
        if problem.key.isEmpty {
            demand(problem.origin != .none, "a problem has a key or a place")
        }
        demand(!problem.reason.isEmpty && !problem.remedy.isEmpty, "a problem says what is wrong and what to do")
        let text = problem.description
        demand(text.utf8.count <= longestDescription, "a problem is short")
        demand(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a problem is one line")
    }
}
