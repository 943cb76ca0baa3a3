/// What environment variables say of the settings.
struct EnvironmentOverrides {
    /// By setting. An empty variable says nothing.
    private(set) var values: [String: ConfigurationNode] = [:]
    /// Settings whose variable is there, but whose value cannot be had.
    private(set) var broken: Set<String> = []

    /// Reads what begins with `LATCHKEY_`; reports both forms of one secret, and warns of variables nobody asks for.
    init(_ environment: [String: String], _ context: inout ReadingContext) {
        let ours = environment.filter { $0.key.hasPrefix(ConfigurationReference.environmentPrefix) }
        var known: Set<String> = []
        for setting in Settings.all {
            let name = ConfigurationReference.environmentName(of: setting.name)
            let fileName = setting.isSecret ? name + ConfigurationReference.environmentFileSuffix : nil
            known.insert(name)
            if let fileName { known.insert(fileName) }
            context.beneath("." + setting.name) { context in
                read(setting.name, name, ours[name], fileName, fileName.flatMap { ours[$0] }, &context)
            }
        }
        for name in ours.keys.sorted() where !known.contains(name) { Self.warn(of: name, known, &context) }
    }

    private mutating func read(
        _ key: String, _ name: String, _ value: String?, _ fileName: String?, _ file: String?,
        _ context: inout ReadingContext
    ) {
        let value = value ?? ""
        let file = file ?? ""
        if !value.isEmpty, let fileName, !file.isEmpty {
            broken.insert(key)
            return context.refuse(.environment(name), "\(fileName) is set too", "set one of them")
        }
        if !value.isEmpty {
            values[key] = ConfigurationNode(value: .text(value), origin: .environment(name))
        } else if let fileName, !file.isEmpty {
            let node = ConfigurationNode(value: .text(file), origin: .environment(fileName))
            if let text = context.secretFile(node) { values[key] = text } else { broken.insert(key) }
        }
    }

    private static func warn(of name: String, _ known: Set<String>, _ context: inout ReadingContext) {
        guard !context.warnings.isFull else { return }
        let meant = Suggestion.nearest(to: name, among: known.sorted()).map { "did you mean \($0)?" }
        let shown = Printable.line(name)
        context.warnings.add(
            shown, .environment(name), "there is no such setting, so it has no effect", meant ?? "remove it")
    }
}
