package import SignIn

/// Finds the values of settings in a mapping of the file, and the keys that are not settings.
package struct SettingsReader<Root: Sendable> {
    /// By name and former name.
    private let settings: [String: Setting<Root>]
    /// `http` and `http.limits`, where `http.limits.max_connections` is a setting. The former name of a setting may be
    /// a group, too: then a single value is the setting's.
    private let groups: Set<String>
    /// By the settings' present names.
    private(set) var values: [String: ConfigurationNode] = [:]
    /// The settings that are given in the file with a value that cannot be read.
    private(set) var broken: Set<String> = []
    /// The name under which each setting is given.
    private var givenNames: [String: String] = [:]
    /// Those that other kinds of provider have.
    private let others: [Setting<Root>]

    init(_ settings: [Setting<Root>], others: [Setting<Root>] = []) {
        self.others = others
        self.settings = Dictionary(
            settings.flatMap { setting in setting.names.map { ($0, setting) } }, uniquingKeysWith: { first, _ in first }
        )
        var groups: Set<String> = []
        for name in self.settings.keys {
            var prefix = name[...]
            while let dot = prefix.lastIndex(of: ".") {
                prefix = prefix[..<dot]
                groups.insert(String(prefix))
            }
        }
        self.groups = groups
    }

    /// Takes the settings' values from a mapping, reads the files of secrets, and reports all other keys. `prefix` is
    /// the prefix of the mapping's keys; it is empty or ends in a dot.
    mutating func collect(_ entries: [ConfigurationEntry], prefix: String = "", _ context: inout ReadingContext) {
        for entry in entries {
            let name = prefix + entry.name
            if let setting = settings[name], !(groups.contains(name) && entry.node.isGroup) {
                keep(entry.node, setting, name, entry.origin, &context)
            } else if let setting = secretSetting(ofFile: name) {
                let node = context.beneath("." + name) { $0.secretFile(entry.node) }
                // A setting with an unreadable file counts as given: its absence is not a second problem.
                keep(node ?? entry.node, setting, name, entry.origin, isBroken: node == nil, &context)
            } else if groups.contains(name) {
                collectGroup(entry, name, &context)
            } else {
                refuseUnknown(entry, name, &context)
            }
        }
    }

    private func secretSetting(ofFile name: String) -> Setting<Root>? {
        guard name.hasSuffix(Setting<Root>.fileSuffix) else { return nil }
        let setting = settings[String(name.dropLast(Setting<Root>.fileSuffix.count))]
        return setting?.isSecret == true ? setting : nil
    }

    private mutating func keep(
        _ node: ConfigurationNode, _ setting: Setting<Root>, _ name: String, _ origin: ConfigurationOrigin,
        isBroken: Bool = false, _ context: inout ReadingContext
    ) {
        if let given = givenNames[setting.name] {
            context.beneath("." + setting.name) {
                if [name, given].contains(setting.formerName) {
                    $0.refuse(origin, "is given twice, also by its former name", "remove \(setting.formerName ?? "")")
                } else {
                    let forms = setting.isSecret ? " or as \(setting.name)\(Setting<Root>.fileSuffix)" : ""
                    $0.refuse(origin, "is given twice", "give it once, either here\(forms)")
                }
            }
            return
        }
        givenNames[setting.name] = name
        if name == setting.formerName {
            context.beneath("." + name) { $0.warn(origin, "is the former name of a key", "write \(setting.name)") }
        }
        if isBroken { broken.insert(setting.name) } else { values[setting.name] = node }
    }

    private mutating func collectGroup(_ entry: ConfigurationEntry, _ name: String, _ context: inout ReadingContext) {
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
        if let other = others.first(where: {
            "\($0.name).".hasPrefix("\(name).") || $0.isSecret && $0.name + Setting<Root>.fileSuffix == name
        }) {
            let kinds = other.kindNames.joined(separator: " or ")
            return context.beneath("." + shown) {
                $0.refuse(entry.origin, "is a setting of kind \(kinds)", "remove it, or change the provider's kind")
            }
        }
        let meant = suggestion(for: name).map { "did you mean \($0)?" } ?? "remove it, or see `latchkey check-config`"
        context.beneath("." + shown) { $0.refuse(entry.origin, "there is no such key", meant) }
    }

    private func suggestion(for name: String) -> String? {
        let names = Set(settings.values.filter { $0.successor == nil }.map(\.name)).sorted() + groups.sorted()
        // A key in the wrong group is likelier than a misspelled one.
        let last = name.split(separator: ".").last
        let sameLast = names.filter { $0.hasSuffix("." + name) || $0.split(separator: ".").last == last }
        if (1...3).contains(sameLast.count) {
            let last = sameLast.last ?? ""
            return sameLast.count == 1 ? last : sameLast.dropLast().joined(separator: ", ") + " or " + last
        }
        return Suggestion.nearest(to: name, among: names)
    }
}

/// A group of a list, such as a client, while it is read.
package protocol GroupDraft: Sendable {
    var place: GroupPlace { get set }
}

/// Where a group is, and what it has.
package struct GroupPlace: Sendable {
    package var origin = ConfigurationOrigin.none
    package var given: [String: ConfigurationOrigin] = [:]
    var isBroken = false

    package init() {}
}

extension SettingsReader where Root: GroupDraft {
    /// Sets the values of a group, and reports the rest of it and what it lacks.
    /// - Parameter kind: The kind of the provider that the group is of; nil where all settings are of all kinds.
    package static func read(
        _ entries: [ConfigurationEntry], at origin: ConfigurationOrigin, _ settings: [Setting<Root>],
        of kind: ProviderKind? = nil, requiring: Bool = true, into root: inout Root, _ context: inout ReadingContext
    ) {
        let before = context.problems.count
        let own = settings.filter { kind.map($0.kinds.contains) ?? true }
        let others = settings.filter { setting in kind.map { !setting.kinds.contains($0) } ?? false }
        var reader = SettingsReader(own, others: others)
        reader.collect(entries, &context)
        root.place = GroupPlace()
        (root.place.origin, root.place.given) = (origin, reader.values.mapValues(\.origin))
        for setting in own {
            if let node = reader.values[setting.name] { setting.apply(node, to: &root, &context) }
        }
        if context.problems.count == before, requiring {
            for setting in own where setting.isMissing(in: root, of: kind) {
                context.refuse(origin, "has no \(setting.name)", setting.demand ?? "give it")
            }
        }
        root.place.isBroken = context.problems.count != before
    }
}

extension Setting where Root: GroupDraft {
    fileprivate func isMissing(in root: Root, of kind: ProviderKind?) -> Bool {
        guard demand != nil, demandingKind.map({ $0 == kind }) ?? true else { return false }
        if let dot = name.lastIndex(of: "."), !root.place.given.keys.contains(where: { $0.hasPrefix(name[...dot]) }) {
            return false
        }
        return root.place.given[name] == nil || show(root).isEmpty
    }
}
