internal import Primitives
internal import SignIn

extension ProviderDraft {
    /// The key that holds the providers.
    static let setting = Setting<Configuration>(
        "providers", "a group of providers", schema: .group(of: .definition("provider"), isText: true), isSecret: true,
        "Ways to sign in other than the carriers, each under its name in paths. The variable, or a file of its own, "
            + "holds YAML or JSON.",
        set: { node, configuration, context in
            guard let entries = entries(of: node, &context) else { return }
            configuration.providers = entries.flatMap { read($0, &context) }
        }, show: { $0.providers.map { "\($0.id) (\($0.kind.rawValue))" }.joined(separator: ",") })

    /// The providers by name, from the file or from a text that is itself YAML or JSON.
    private static func entries(of node: ConfigurationNode, _ context: inout ReadingContext) -> [ConfigurationEntry]? {
        switch node.value {
        case .mapping(let entries): return entries
        case .text(let text):
            do throws(YAMLDocument.Refusal) {
                return try YAMLDocument.read(Array(text.utf8), path: "\(node.origin)")
            } catch {
                context.refuse(node.origin, error.reason, error.remedy)
            }
        case .list, .empty:
            context.refuse(node.origin, "is \(node.kind)", "give a group of providers, each under its name")
        }
        return nil
    }

    /// The provider, or one for each of its mobile operators; none after reporting what is wrong.
    private static func read(_ entry: ConfigurationEntry, _ context: inout ReadingContext) -> [Configuration.Provider] {
        context.beneath("." + (Printable.name(entry.name) ?? "(unnamed)")) { context in
            let id = entry.name
            guard (1...32).contains(id.utf8.count), id.consists(of: .lowerCaseAndDigits + "-"), id != "zenkey" else {
                context.refuse(
                    entry.origin, "is not the name of a provider",
                    "use 1 to 32 lower-case letters, digits and hyphens; zenkey is the carriers' name")
                return []
            }
            guard case .mapping(let entries) = entry.node.value else {
                context.refuse(
                    entry.origin, "is \(entry.node.kind), but it is a group of keys", "write its keys below it")
                return []
            }
            let before = context.problems
            var draft = ProviderDraft()
            SettingsReader.read(entries, settings, into: &draft, &context)
            let isBroken = context.problems.count != before.count
            if draft.kind == .camara { return draft.operators(id: id, entry.origin, isBroken: isBroken, &context) }
            draft.refuseKeysOfNumbers(entry.origin, &context)
            return draft.finished(id: id, entry.origin, isBroken: isBroken, &context).map { [$0] } ?? []
        }
    }
}
