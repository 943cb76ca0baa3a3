/// Settings given as arguments of a command: `--http-port 9000` or `--http-port=9000` for `http.port`.
///
/// A secret cannot be given in this way, because every user of the machine can list the arguments of its processes.
/// `--api-keys-file` names the file that holds it.
public struct SettingArguments: Sendable, Hashable {
    /// Why arguments are refused. Repeats names, and no values.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// One line: what is wrong and what to do.
        public let description: String
    }

    /// A value by the name of its setting.
    private(set) var values: [String: Value] = [:]

    struct Value: Sendable, Hashable {
        let option: String
        let isFile: Bool
        let text: String
    }

    /// No settings.
    public init() {}

    /// Reads arguments.
    ///
    /// - Throws: ``Refusal`` if an argument is no setting, is a secret, is given twice or has no value.
    public init(_ arguments: [String]) throws(Refusal) {
        let options = Self.options
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first.map(String.init) ?? ""
            guard let option = options[name] else { throw Self.unknown(name, options.keys.sorted()) }
            guard !option.isSecret || option.isFile else {
                throw Refusal(
                    description: "\(name) would show a secret in the list of processes; give \(name)-file, or the "
                        + "variable \(ConfigurationReference.environmentName(of: option.setting))")
            }
            guard values[option.setting] == nil else {
                throw Refusal(description: "\(name) is given more than once; keep one of them")
            }
            guard let text = parts.count == 2 ? String(parts[1]) : rest.popFirst(), !text.isEmpty else {
                throw Refusal(
                    description: "\(name) has no value; give \(option.isFile ? "the path of a file" : option.type)")
            }
            values[option.setting] = Value(option: name, isFile: option.isFile, text: text)
        }
    }

    /// Reads changes of settings: `id_token.clock_skew=120`, by the names of the configuration file.
    ///
    /// - Throws: ``Refusal`` if a change names no setting, or a secret, or one that is given twice, or has no value.
    public init(changes: [String]) throws(Refusal) {
        for change in changes {
            let parts = change.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first.map(String.init) ?? ""
            guard let setting = Settings.all.first(where: { $0.name == name }) else {
                throw Self.unknownSetting(name)
            }
            guard !setting.isSecret else {
                throw Refusal(description: "\(name) would show a secret in the list of processes; change the file")
            }
            guard values[name] == nil else {
                throw Refusal(description: "\(name) is given more than once; keep one of them")
            }
            guard parts.count == 2, !parts[1].isEmpty else {
                throw Refusal(description: "\(name) has no value; write \(name)=\(setting.type)")
            }
            values[name] = Value(option: "--with \(name)", isFile: false, text: String(parts[1]))
        }
    }

    /// The value of a setting; nil if it is not given, or after reporting that its file cannot be read.
    func node(of setting: String, _ context: inout ReadingContext) -> ConfigurationNode? {
        guard let value = values[setting] else { return nil }
        let node = ConfigurationNode(value: .text(value.text), origin: .commandLine(value.option))
        return value.isFile ? context.beneath("." + setting) { $0.secretFile(node) } : node
    }

    private struct Option {
        let setting: String
        let type: String
        let isSecret: Bool
        let isFile: Bool
    }

    private static var options: [String: Option] {
        var options: [String: Option] = [:]
        for setting in Settings.all {
            let name = ConfigurationReference.optionName(of: setting.name)
            for isFile in setting.isSecret ? [false, true] : [false] {
                options[isFile ? name + ConfigurationReference.optionFileSuffix : name] = Option(
                    setting: setting.name, type: setting.type, isSecret: setting.isSecret, isFile: isFile)
            }
        }
        return options
    }

    private static func unknownSetting(_ name: String) -> Refusal {
        guard let shown = Printable.name(name) else {
            return Refusal(description: "a change names no setting; write key=value, such as id_token.clock_skew=120")
        }
        let meant = Suggestion.nearest(to: name, among: Settings.all.map(\.name)).map { "did you mean \($0)?" }
        return Refusal(
            description: "there is no setting \(shown); \(meant ?? "latchkey check-config --keys lists them")")
    }

    /// An argument may be a secret, so only a name is repeated.
    private static func unknown(_ name: String, _ known: [String]) -> Refusal {
        guard name.hasPrefix("--"), let shown = Printable.name(String(name.dropFirst(2))) else {
            return Refusal(description: "an argument is no option; write --key value, such as --http-port 8080")
        }
        let meant = Suggestion.nearest(to: name, among: known).map { "did you mean \($0)?" }
        return Refusal(
            description: "Unknown option '--\(shown)'; \(meant ?? "latchkey check-config --keys lists the settings")")
    }
}
