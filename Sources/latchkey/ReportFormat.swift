import ArgumentParser

/// For whom a command writes what it found: the value of every `--format`.
enum ReportFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json
}
