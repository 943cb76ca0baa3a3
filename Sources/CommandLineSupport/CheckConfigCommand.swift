import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService
import Primitives

struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Checks the configuration and prints all its problems.",
        discussion: """
            Checks the configuration alone; `latchkey doctor` also checks the database and the providers. Secrets are \
            never printed.

            Exit status: 0 if `latchkey serve` accepts the configuration (it may still fail to bind its addresses), 64 \
            for wrong options, 78 for an invalid configuration, with all its problems listed.
            """)

    private var all: Settings { FeatureList.ofProgram.settings }

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var settings: SettingOptions

    @Flag(help: "Also list every key with its meaning, default and environment variable.")
    var keys = false

    @Flag(help: "Print the JSON Schema of the file, for editors, and check nothing.")
    var schema = false

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() throws {
        if schema { return print(ConfigurationSchema.text(of: all), terminator: "") }
        if format == .json { return try printJSON() }
        if keys { printKeys() }
        let loaded = try options.load(for: .serve, settings.parsed)
        for warning in loaded.warnings { print("warning: \(warning)") }
        print("The configuration is valid.")
    }

    private func reload(of key: ConfigurationKey) -> String {
        switch key.reload {
        case .nothing: ""
        case .value: "; reloaded at SIGHUP"
        case .contentsOfFile: "; the file's contents are reloaded at SIGHUP"
        }
    }

    /// The problems and warnings, and with --keys the keys, as one object.
    private func printJSON() throws {
        var errors: ConfigurationErrors?
        var warnings: [ConfigurationProblem] = []
        do throws(ConfigurationErrors) {
            warnings = try options.read(for: .serve, settings.parsed).warnings
        } catch {
            (errors, warnings) = (error, error.warnings)
        }
        let text = JSONObjectWriter.text { json in
            json.add("valid", errors == nil)
            json.add("problems", objects: errors?.problems ?? []) { $0.write(to: &$1) }
            if let errors, errors.omitted > 0 { json.add("omitted", errors.omitted) }
            json.add("warnings", objects: warnings) { $0.write(to: &$1) }
            if keys { json.add("keys", objects: ConfigurationReference.keys(of: all)) { $0.write(to: &$1) } }
        }
        print(text)
        if errors != nil { throw ExitCode(78) }
    }

    private func printKeys() {
        for key in ConfigurationReference.keys(of: all) {
            print("\(key.name)\n    \(key.meaning)")
            let variable = key.environmentName ?? "in the file only"
            let secrecy = key.isSecret ? "; a secret, which a file may hold (_file)" : ""
            print("    default: \(key.defaultValue ?? "none"); environment: \(variable)\(secrecy)\(reload(of: key))")
            if let option = key.optionName { print("    option: \(option)") }
            for former in key.formerNames { print("    former name: \(former)") }
            print("")
        }
    }
}

extension ConfigurationProblem {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("key", key)
        json.add("reason", reason)
        json.add("remedy", remedy)
        json.add("origin", "\(origin)")
    }
}

extension ConfigurationKey {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("key", name)
        json.add("former_names", formerNames)
        json.add("variable", ifPresent: environmentName)
        json.add("option", ifPresent: optionName)
        json.add("type", type)
        json.add("default", ifPresent: defaultValue)
        json.add("secret", isSecret)
        json.add("reloaded", reload != .nothing)
        json.add("meaning", meaning)
    }
}
