internal import Primitives

/// What a feature knows of a provider by name: the settings with which its section of `providers` begins, and what an
/// administrator does there.
package struct ProviderPreset: Sendable {
    /// Of the section, or of its key `preset`.
    package let name: String
    /// Keys of the section that are no settings: each is written into the settings in place of its name in braces.
    package let parameters: [Key]
    /// The keys that a section must have besides, such as `client_secret`.
    package let needs: [Key]
    /// The page where the provider gives out what it ``needs``.
    package let console: String
    /// What to do there; `{callback}` is the address to which the provider sends browsers back.
    package let registration: String
    /// The public document that it was made from.
    package let source: String
    /// What the provider does not have, such as `logout`.
    package let lacks: [String]
    let settings: [ConfigurationEntry]
    /// What the settings have besides where tokens are stored, so that the provider gives refresh tokens. Elements of
    /// lists are added.
    let refresh: [ConfigurationEntry]

    /// What `store_tokens` adds to the settings, such as `scopes: offline_access`.
    package var refreshTexts: [String] {
        refresh.map { entry in
            let group = (entry.node.entries ?? []).map { "\($0.name)=\($0.node.text ?? "")" }
            return "\(entry.name): " + ((entry.node.items ?? []).compactMap(\.text) + group).joined(separator: ", ")
        }
    }

    /// A key of the section that an administrator gives.
    package struct Key: Sendable {
        /// As it is written in the section.
        package let name: String
        /// A value that it could have.
        package let example: String
        /// The value of a parameter that the section does not have.
        package let usual: String?
    }

    /// The presets of a table in YAML, sorted by name; nil if it is none.
    package static func table(_ bytes: [UInt8]) -> [ProviderPreset]? {
        let entries = try? YAMLDocument.read(bytes, path: "presets")
        return entries.map { $0.map(ProviderPreset.init).sorted { $0.name < $1.name } }
    }

    private init(_ row: ConfigurationEntry) {
        func node(_ key: String) -> ConfigurationNode? { row.node.entries?.first { $0.name == key }?.node }
        name = row.name
        settings = node("settings")?.entries ?? []
        refresh = node("refresh")?.entries ?? []
        let usual = node("defaults")?.entries ?? []
        func keys(_ key: String) -> [Key]? {
            node(key)?.entries?.map { entry in
                let usual = usual.first { $0.name == entry.name }
                return Key(name: entry.name, example: entry.node.text ?? "", usual: usual?.node.text)
            }
        }
        parameters = keys("parameters") ?? []
        needs =
            keys("needs")
            ?? ["client-id", "client-secret"].map { name in
                Key(name: name.replacing("-", with: "_"), example: "replace-with-the-\(name)", usual: nil)
            }
        console = node("console")?.text ?? ""
        registration = node("registration")?.text ?? ""
        source = node("source")?.text ?? ""
        lacks = (node("lacks")?.items ?? []).compactMap(\.text)
    }

    /// The preset of a name; otherwise the end of an error message, with the name that was probably meant, or empty.
    package static func find(
        _ name: String, among presets: [ProviderPreset]
    ) -> (preset: ProviderPreset?, meant: String) {
        if let preset = presets.first(where: { $0.name == name }) { return (preset, "") }
        let nearest = name.isEmpty ? nil : Suggestion.nearest(to: name, among: presets.map(\.name))
        return (nil, nearest.map { "; did you mean the preset \($0)?" } ?? "")
    }

    /// The keys of a section whose values are secrets.
    package static func secretKeys(of settings: Settings) -> Set<String> {
        Set(settings.ofProviders.filter(\.isSecret).map(\.name))
    }

    /// The text of one of its settings, such as `name`.
    package func setting(_ key: String) -> String? { settings.first { $0.name == key }?.node.text }

    /// The entries of a provider's section over the settings of its preset; as they are if it has none, because its
    /// `kind` is given. Nil after reporting what is wrong.
    static func complete(
        _ section: ConfigurationEntry, _ entries: [ConfigurationEntry], _ context: inout ReadingContext
    ) -> [ConfigurationEntry]? {
        let given = entries.first { $0.name == "preset" }
        guard given != nil || !entries.contains(where: { $0.name == "kind" }) else { return entries }
        let (origin, subject) = given.map { ($0.origin, "has a preset") } ?? (section.origin, "has no kind")
        guard let presets = context.settings.presets?() else {
            context.refuse(
                origin, "\(subject), which needs the feature Presets, which this build of the program does not have",
                "run a build with the trait Presets, or give the kind and its settings")
            return nil
        }
        let name = given.map { $0.node.text ?? "" } ?? section.name
        let (preset, meant) = find(name, among: presets)
        if let preset { return preset.completed(section, entries, &context) }
        context.refuse(
            origin, given == nil ? subject : "has a preset that is not known",
            (given == nil
                ? "give it: oidc, oauth2, camara, firebase_pnv or aggregator, or a preset"
                : "`latchkey providers` lists them")
                + meant)
        return nil
    }

    private func completed(
        _ section: ConfigurationEntry, _ entries: [ConfigurationEntry], _ context: inout ReadingContext
    ) -> [ConfigurationEntry]? {
        var values: [(name: String, node: ConfigurationNode)] = []
        for parameter in parameters {
            let entry = entries.first { $0.name == parameter.name }
            guard let value = parameter.value(of: entry?.node.text ?? parameter.usual) else {
                context.refuse(
                    entry?.origin ?? section.origin,
                    entry == nil ? "has no \(parameter.name)" : "the \(parameter.name) is not usable",
                    "give it, such as \(parameter.example)")
                continue
            }
            let origin = entry?.node.origin ?? section.origin
            if let added = pathAfter(parameter), value.contains(added) {
                context.refuse(
                    origin, "the \(parameter.name) has \(added), which the preset adds",
                    "give what is before it, such as \(parameter.example)")
                continue
            }
            if parameter.isID, !value.isGUID {
                if let error = InvalidValueError(tenant: value) {
                    context.refuse(origin, error.reason, error.remedy ?? "")
                    continue
                }
                context.warn(
                    origin,
                    "the \(parameter.name) is a name, but the provider's issuer has an id, so that no one can sign in",
                    "give its id, such as \(parameter.example)")
            }
            values.append((parameter.name, ConfigurationNode(value: .text(value), origin: origin)))
        }
        guard values.count == parameters.count else { return nil }
        for setting in settings where !entries.contains(where: { $0.name == setting.name }) {
            context.ofPresets["\(context.key).\(setting.name)"] = (name, section.origin)
        }
        let names = parameters.map(\.name)
        // The draft reports a value that is no flag.
        var unreported = context
        let isStoring = entries.contains { entry in
            entry.name == "store_tokens" && ValueType<Bool>.flag().read(entry.node, &unreported) == true
        }
        // What only a feature reads is left out where the build does not have it.
        let known = context.settings.ofProviders.map(\.name)
        return settings.filter { entry in known.contains { "\($0).".hasPrefix("\(entry.name).") } }
            .overlaid(by: isStoring ? refresh : [], addingToLists: true)
            .map { $0.with(values, at: section.origin) }
            .overlaid(by: entries.filter { !names.contains($0.name) })
    }

    /// What the issuer has between a URL and the next parameter, such as `/realms/`; nil if there is nothing.
    private func pathAfter(_ parameter: Key) -> String? {
        let parts = setting("issuer")?.split(separator: "{\(parameter.name)}", omittingEmptySubsequences: false)
        guard parameter.isURL, let path = parts?.dropFirst().first?.prefix(while: { $0 != "{" }) else { return nil }
        return path.count > 1 ? String(path) : nil
    }
}

extension ProviderPreset.Key {
    /// Whether it is the id of a tenant or an environment, which issuers have. A client id is compared with nothing.
    fileprivate var isID: Bool { example.isGUID && name != "client_id" }

    fileprivate var isURL: Bool { example.contains("://") }

    /// A text without a slash at its end; a URL with a scheme, other texts without one; an id in small letters, as
    /// issuers have it. Nil if it is none.
    fileprivate func value(of given: String?) -> String? {
        guard var text = given?[...] else { return nil }
        if let scheme = text.firstRange(of: "://") {
            if !isURL { text = text[scheme.upperBound...] }
        } else if isURL {
            text = "https://\(text)"
        }
        while text.last == "/" { text.removeLast() }
        let isUsable = (1...255).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisibleASCII)
        guard isUsable, !text.utf8.contains(UInt8(ascii: "{")) else { return nil }
        return isID && String(text).isGUID ? text.lowercased() : String(text)
    }
}

extension ConfigurationNode {
    /// The node of a section, with the values of parameters in place of their names in braces. Its place is that of a
    /// parameter that it has, otherwise that of the section.
    fileprivate func with(
        _ parameters: [(name: String, node: ConfigurationNode)], at section: ConfigurationOrigin
    ) -> ConfigurationNode {
        var node = ConfigurationNode(value: value, origin: section)
        switch value {
        case .text(var text):
            // The first one is the likeliest to be wrong, such as the URL of the server.
            for parameter in parameters.reversed() where text.contains("{\(parameter.name)}") {
                text = text.replacing("{\(parameter.name)}", with: parameter.node.text ?? "")
                node.origin = parameter.node.origin
            }
            node.value = .text(text)
        case .list(let items): node.value = .list(items.map { $0.with(parameters, at: section) })
        case .mapping(let entries): node.value = .mapping(entries.map { $0.with(parameters, at: section) })
        case .empty: break
        }
        return node
    }
}

extension ConfigurationEntry {
    fileprivate func with(
        _ parameters: [(name: String, node: ConfigurationNode)], at section: ConfigurationOrigin
    ) -> ConfigurationEntry {
        let node = node.with(parameters, at: section)
        return ConfigurationEntry(name: name, origin: node.origin, node: node)
    }
}

extension [ConfigurationEntry] {
    /// With the entries of others added, or in place of those of the same name; groups are merged.
    fileprivate func overlaid(by others: [ConfigurationEntry], addingToLists: Bool = false) -> [ConfigurationEntry] {
        others.reduce(into: self) { all, other in
            guard let index = all.firstIndex(where: { $0.name == other.name }) else { return all.append(other) }
            switch (all[index].node.value, other.node.value) {
            case (.mapping(let under), .mapping(let over)):
                all[index].node.value = .mapping(under.overlaid(by: over))
            case (.list(let under), .list(let over)) where addingToLists:
                all[index].node.value = .list(under + over)
            default: all[index] = other
            }
        }
    }
}
