/// Finds the values of settings in a mapping of the file, and what there is besides.
struct SettingsReader<Root: Sendable> {
    private let settings: [String: Setting<Root>]
    /// `http` and `http.limits`, where `http.limits.max_connections` is a setting.
    private let groups: Set<String>
    private(set) var values: [String: ConfigurationNode] = [:]

    init(_ settings: [Setting<Root>]) {
        self.settings = Dictionary(settings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var groups: Set<String> = []
        for setting in settings {
            var prefix = setting.name[...]
            while let dot = prefix.lastIndex(of: ".") {
                prefix = prefix[..<dot]
                groups.insert(String(prefix))
            }
        }
        self.groups = groups
    }

    /// Takes what a mapping has for the settings, reads secrets' files, and reports all else. Names in it follow
    /// `prefix`, which is empty or ends in a dot.
    mutating func collect(_ entries: [ConfigurationEntry], prefix: String = "", _ context: inout ReadingContext) {
        for entry in entries {
            let name = prefix + entry.name
            if settings[name] != nil {
                keep(entry.node, as: name, entry.origin, &context)
            } else if let setting = secretSetting(ofFile: name) {
                let node = context.beneath("." + name) { $0.secretFile(entry.node) }
                // Also where the file cannot be read the setting counts as given: its absence is not another problem.
                keep(node ?? entry.node, as: setting.name, entry.origin, isBroken: node == nil, &context)
            } else if groups.contains(name) {
                collectGroup(entry, name, &context)
            } else {
                refuseUnknown(entry, name, &context)
            }
        }
    }

    /// Settings that stand in the file with a value that cannot be had.
    private(set) var broken: Set<String> = []

    private func secretSetting(ofFile name: String) -> Setting<Root>? {
        guard name.hasSuffix(Setting<Root>.fileSuffix) else { return nil }
        let setting = settings[String(name.dropLast(Setting<Root>.fileSuffix.count))]
        return setting?.isSecret == true ? setting : nil
    }

    private mutating func keep(
        _ node: ConfigurationNode, as name: String, _ origin: ConfigurationOrigin, isBroken: Bool = false,
        _ context: inout ReadingContext
    ) {
        if values[name] != nil || broken.contains(name) {
            context.beneath("." + name) {
                let isSecret = settings[name]?.isSecret == true
                let forms = isSecret ? " or as \(name)\(Setting<Root>.fileSuffix)" : ""
                $0.refuse(origin, "is given twice", "give it once, either here\(forms)")
            }
        } else if isBroken {
            broken.insert(name)
        } else {
            values[name] = node
        }
    }

    private mutating func collectGroup(
        _ entry: ConfigurationEntry, _ name: String, _ context: inout ReadingContext
    ) {
        switch entry.node.value {
        case .mapping(let entries): collect(entries, prefix: name + ".", &context)
        // All its keys may be commented out.
        case .empty: break
        case .text, .list:
            context.beneath("." + name) {
                $0.refuse(entry.origin, "is \(entry.node.kind), but it is a group of keys", "write its keys below it")
            }
        }
    }

    private func refuseUnknown(_ entry: ConfigurationEntry, _ name: String, _ context: inout ReadingContext) {
        guard !context.problems.isFull else { return context.refuse(entry.origin, "", "") }
        let shown = Printable.name(name) ?? "(unnamed)"
        let meant = suggestion(for: name).map { "did you mean \($0)?" } ?? "remove it, or see `latchkey check-config`"
        context.beneath("." + shown) { $0.refuse(entry.origin, "there is no such key", meant) }
    }

    private func suggestion(for name: String) -> String? {
        let names = settings.keys.sorted() + groups.sorted()
        // A key in the wrong group is likelier than a misspelled one.
        let sameLast = names.filter { $0.hasSuffix("." + name) || $0.split(separator: ".").last == lastPart(of: name) }
        if (1...3).contains(sameLast.count) {
            let last = sameLast.last ?? ""
            return sameLast.count == 1 ? last : sameLast.dropLast().joined(separator: ", ") + " or " + last
        }
        return Suggestion.nearest(to: name, among: names)
    }

    private func lastPart(of name: String) -> Substring? { name.split(separator: ".").last }
}
