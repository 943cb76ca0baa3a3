import ArgumentParser
import LatchkeyConfiguration

struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Reads the configuration and tells everything that is wrong with it.",
        discussion: """
            Looks at the configuration alone; `latchkey doctor` looks at the database and the carriers too. Secrets are \
            never printed.

            Ends with 0 if `latchkey serve` would accept it (whether its address can be listened at shows at the start), 64 if the options are wrong, and 78, with all of them \
            listed, if it has problems.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(name: .long, help: "Also list every key with its meaning, default and environment variable.")
    var keys = false

    func run() throws {
        if keys { printKeys() }
        let loaded = try options.load(for: .serve)
        for warning in loaded.warnings { print("warning: \(warning)") }
        print("The configuration is good.")
    }

    private func reload(of key: ConfigurationKey) -> String {
        switch key.reload {
        case .nothing: ""
        case .value: "; SIGHUP takes a new value over"
        case .contentsOfFile: "; SIGHUP takes over what is in the file"
        }
    }

    private func printKeys() {
        for key in ConfigurationReference.keys {
            print("\(key.name)\n    \(key.meaning)")
            let variable = key.environmentName ?? "in the file only"
            let secrecy = key.isSecret ? "; a secret, also from a file (_file)" : ""
            print("    default: \(key.defaultValue ?? "none"); environment: \(variable)\(secrecy)\(reload(of: key))\n")
        }
    }
}
