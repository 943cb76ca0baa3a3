/// Settings given as arguments of a command: `--http-port 9000` or `--http-port=9000` for `http.port`.
///
/// A secret cannot be given in this way, because every user of the machine can list the arguments of its processes.
/// `--api-keys-file` names the file that holds it.
public struct SettingArguments: Sendable, Hashable {
    /// Why arguments are refused. Repeats names, and no values.
    public struct ArgumentError: Error, Sendable, Hashable, CustomStringConvertible {
        /// One line: what is wrong and what to do.
        public let description: String
    }

    private(set) var values: [String: Value] = [:]

    struct Value: Sendable, Hashable {
        let option: String
        let isFile: Bool
        let text: String
    }

    public init() {}

    /// Reads arguments.
    ///
    /// - Throws: ``ArgumentError`` if an argument is no setting, is a secret, is given twice or has no value.
    public init(_ arguments: [String], of settings: Settings) throws(ArgumentError) {
        let options = Self.options(of: settings)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let (name, text) = Self.parts(of: argument)
            guard let (setting, isFile) = options[name] else { throw Self.unknown(name, options.keys.sorted()) }
            guard !setting.isSecret || isFile else {
                throw ArgumentError(
                    description: "\(name) would show a secret in the list of processes; give \(name)-file, or the "
                        + "variable \(ConfigurationReference.environmentName(of: setting.name))")
            }
            try keep(
                text ?? rest.popFirst(), of: setting, name, option: name, isFile: isFile,
                orElse: "give \(isFile ? "the path of a file" : setting.type)")
        }
    }

    /// Reads changes of settings: `id_token.clock_skew=120`, by the names of the configuration file.
    ///
    /// - Throws: ``ArgumentError`` if a change names no setting, or a secret, or one that is given twice, or has no
    ///   value.
    public init(changes: [String], of settings: Settings) throws(ArgumentError) {
        for change in changes {
            let (name, text) = Self.parts(of: change)
            guard let setting = settings.all.first(where: { $0.name == name }) else {
                throw Self.unknownSetting(name, settings)
            }
            guard !setting.isSecret else {
                throw ArgumentError(
                    description: "\(name) would show a secret in the list of processes; change the file")
            }
            try keep(
                text, of: setting, name, option: "--with \(name)", isFile: false,
                orElse: "write \(name)=\(setting.type)")
        }
    }

    /// What is before the first `=`, and after it; nil without one.
    private static func parts(of argument: String) -> (name: String, text: String?) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return (parts.first ?? "", parts.count == 2 ? parts[1] : nil)
    }

    private mutating func keep(
        _ text: String?, of setting: Setting<Configuration>, _ name: String, option: String, isFile: Bool,
        orElse remedy: String
    ) throws(ArgumentError) {
        guard values[setting.name] == nil else {
            throw ArgumentError(description: "\(name) is given more than once; keep one of them")
        }
        guard let text, !text.isEmpty else { throw ArgumentError(description: "\(name) has no value; \(remedy)") }
        values[setting.name] = Value(option: option, isFile: isFile, text: text)
    }

    /// The value of a setting; nil if it is not given, or after reporting that its file cannot be read.
    func node(of setting: String, _ context: inout ReadingContext) -> ConfigurationNode? {
        guard let value = values[setting] else { return nil }
        let node = ConfigurationNode(value: .text(value.text), origin: .commandLine(value.option))
        return value.isFile ? context.beneath("." + setting) { $0.secretFile(node) } : node
    }

    private static func options(
        of settings: Settings
    ) -> [String: (setting: Setting<Configuration>, isFile: Bool)] {
        var options: [String: (setting: Setting<Configuration>, isFile: Bool)] = [:]
        for setting in settings.all {
            let name = ConfigurationReference.optionName(of: setting.name)
            options[name] = (setting, false)
            if setting.isSecret { options[name + ConfigurationReference.optionFileSuffix] = (setting, true) }
        }
        return options
    }

    private static func unknownSetting(_ name: String, _ settings: Settings) -> ArgumentError {
        guard let shown = Printable.name(name) else {
            return ArgumentError(
                description: "a change names no setting; write key=value, such as id_token.clock_skew=120")
        }
        let meant = Suggestion.nearest(to: name, among: settings.all.map(\.name)).map { "did you mean \($0)?" }
        return ArgumentError(
            description: "there is no setting \(shown); \(meant ?? "latchkey check-config --keys lists them")")
    }

    /// An argument may be a secret, so only a name is repeated.
    private static func unknown(_ name: String, _ known: [String]) -> ArgumentError {
        guard name.hasPrefix("--"), let shown = Printable.name(String(name.dropFirst(2))) else {
            return ArgumentError(description: "an argument is no option; write --key value, such as --http-port 8080")
        }
        let meant = Suggestion.nearest(to: name, among: known).map { "did you mean \($0)?" }
        return ArgumentError(
            description: "Unknown option '--\(shown)'; \(meant ?? "latchkey check-config --keys lists the settings")")
    }
}
