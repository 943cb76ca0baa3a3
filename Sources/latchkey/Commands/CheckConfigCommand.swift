import ArgumentParser
import LatchkeyConfiguration

struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Checks the configuration and prints all its problems.",
        discussion: """
            Checks the configuration alone; `latchkey doctor` also checks the database and the carriers. Secrets are \
            never printed.

            Exit status: 0 if `latchkey serve` accepts the configuration (it may still fail to bind its addresses), 64 \
            for wrong options, 78 for an invalid configuration, with all its problems listed.
            """)

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var settings: SettingOptions

    @Flag(name: .long, help: "Also list every key with its meaning, default and environment variable.")
    var keys = false

    func run() throws {
        if keys { printKeys() }
        let loaded = try options.load(for: .serve, settings)
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

    private func printKeys() {
        for key in ConfigurationReference.keys {
            print("\(key.name)\n    \(key.meaning)")
            let variable = key.environmentName ?? "in the file only"
            let secrecy = key.isSecret ? "; a secret, which a file may hold (_file)" : ""
            print("    default: \(key.defaultValue ?? "none"); environment: \(variable)\(secrecy)\(reload(of: key))")
            if let option = key.optionName { print("    option: \(option)") }
            if let former = key.formerName { print("    former name: \(former)") }
            print("")
        }
    }
}
