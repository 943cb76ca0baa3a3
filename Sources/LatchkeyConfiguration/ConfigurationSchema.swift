internal import Primitives

/// The JSON Schema of the configuration file.
public enum ConfigurationSchema {
    /// The schema (draft-07) of a program with these settings, with one member a line.
    public static func text(of settings: Settings) -> String {
        var text = ""
        write(schema(of: settings), indentation: "", to: &text)
        return text + "\n"
    }

    private static func schema(of settings: Settings) -> JSONValue {
        var members: [(name: String, value: JSONValue?)] = [
            ("$schema", "http://json-schema.org/draft-07/schema#"), ("title", "The configuration of Latchkey"),
        ]
        members +=
            group(of: settings.all, defaults: Configuration()).json.object?.members.map { ($0.name, $0.value) } ?? []
        let definitions = SettingGroup.all(of: settings).map { group in
            (group.definition, group.definition == "provider" ? provider(settings) : group.schema)
        }
        members.append(("definitions", .object(of: definitions)))
        return .object(of: members)
    }

    /// The section of a provider, with the parameters of presets.
    private static func provider(_ settings: Settings) -> JSONValue {
        let known = Set(settings.ofProviders.map(\.name))
        let names = Set(settings.presets?().flatMap { $0.parameters.map(\.name) } ?? []).subtracting(known)
        let parameters = names.sorted().map { name in
            Setting<ProviderDraft>(
                name, .optional(.keyID), \.preset, "Of some presets, as `latchkey providers show` says.")
        }
        return group(of: settings.ofProviders + parameters, defaults: ProviderDraft()).json
    }

    private typealias Leaf = (path: [String], schema: JSONValue)

    static func group<Root>(
        of settings: [Setting<Root>], defaults: Root, isText: Bool = false
    ) -> ValueSchema {
        let leaves = settings.flatMap { setting in
            Self.leaves(of: setting, defaults).map { (path: $0.path.split(separator: ".").map(String.init), $0.schema) }
        }
        return tree(leaves, isText: isText)
    }

    private static func leaves<Root>(
        of setting: Setting<Root>, _ defaults: Root
    ) -> [(path: String, schema: JSONValue)] {
        let value = setting.schema.with([
            ("default", defaultValue(setting.show(defaults))), ("deprecated", setting.successor == nil ? nil : true),
            ("description", .string(setting.meaning)),
        ])
        let file = ValueSchema.text.with([
            ("description", .string("The path of a file that holds \(setting.name)."))
        ])
        let former = setting.schema.with([
            ("deprecated", true), ("description", .string("The former name of \(setting.name).")),
        ])
        return [
            (setting.name, value.json), (setting.isSecret ? setting.name + Setting<Root>.fileSuffix : nil, file.json),
            (setting.formerName, former.json),
        ].compactMap { path, schema in path.map { ($0, schema) } }
    }

    /// As it would be written in the file; nil for none.
    private static func defaultValue(_ text: String) -> JSONValue? {
        switch text {
        case "": nil
        case "true": true
        case "false": false
        default: Int64(text).map { .integer($0) } ?? .string(text)
        }
    }

    /// Groups by the first name of each path, in the order of the settings.
    private static func tree(_ leaves: [Leaf], isText: Bool = false) -> ValueSchema {
        var names: [String] = []
        var branches: [String: [Leaf]] = [:]
        for leaf in leaves {
            guard let name = leaf.path.first else { continue }
            if branches[name] == nil { names.append(name) }
            branches[name, default: []].append((Array(leaf.path.dropFirst()), leaf.schema))
        }
        let values = names.map { name in
            let below = branches[name] ?? []
            let values = below.filter(\.path.isEmpty).map(\.schema)
            let deeper = below.filter { !$0.path.isEmpty }
            guard let value = values.first else { return (name: name, value: tree(deeper).json) }
            // The former name of a setting may be a group, too.
            return (name: name, value: deeper.isEmpty ? value : tree(deeper).or(switch: value).json)
        }
        return .group(values, isText: isText)
    }

    private static func write(_ value: JSONValue, indentation: String, to text: inout String) {
        guard case .object(let object) = value, !object.members.isEmpty else { return text += value.text }
        text += "{\n"
        for (index, member) in object.members.enumerated() {
            text += "\(indentation)  \(JSONValue.string(member.name).text): "
            write(member.value, indentation: indentation + "  ", to: &text)
            text += index + 1 < object.members.count ? ",\n" : "\n"
        }
        text += "\(indentation)}"
    }
}
