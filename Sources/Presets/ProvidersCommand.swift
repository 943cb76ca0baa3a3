import ArgumentParser
import CommandLineSupport
package import LatchkeyConfiguration
import LatchkeyService
import Primitives

struct ProvidersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "providers",
        abstract: "Lists the providers that are configured by their name, and says how.",
        discussion: """
            A provider of this list needs a few keys in the configuration. Every other OpenID or OAuth 2 \
            provider is configured by its issuer or its endpoints. Sends no request.

            Exit status: 0, or 64 for wrong options, such as an unknown name.
            """,
        subcommands: [ListProvidersCommand.self, ShowProviderCommand.self],
        defaultSubcommand: ListProvidersCommand.self)
}

struct ListProvidersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the providers, what each needs, and what it lacks.")

    @OptionGroup var format: FormatOptions

    func run() {
        let presets = PresetsFeature.all
        let width = presets.map(\.name.count).max() ?? 0
        let lines = presets.map { preset in
            let optional = preset.optional.map { "\($0.name) (\($0.usual ?? ""))" }
            return "\(preset.name.padded(width + 2))"
                + (preset.needed.map(\.name) + optional).joined(separator: ", ")
                + (preset.lacks.isEmpty ? "" : "; lacks \(preset.lacks.joined(separator: ", "))")
        }
        CommandReport(text: lines, json: presets.map(\.json)).print(as: format.format)
    }
}

struct ShowProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Says what to register at a provider, and prints a configuration to paste.")

    @Argument(help: "A name of `latchkey providers`.", completion: .list(PresetsFeature.all.map(\.name)))
    var name: String

    @Option(help: ArgumentHelp("The address of this server as browsers know it.", valueName: "url"))
    var publicURL = ProviderPreset.exampleURL

    @OptionGroup var format: FormatOptions

    func run() throws {
        let preset = try ProviderPreset.named(name)
        CommandReport(
            text: preset.instructions(at: publicURL.withoutLastSlash) + ["", "The configuration:", ""]
                + preset.section(with: []).map { "  " + $0 },
            json: [preset.json]
        ).print(as: format.format)
    }
}

extension String {
    var withoutLastSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}

extension ProviderPreset {
    static let exampleURL = "https://login.example.com"

    /// - Parameter name: In any case of letters.
    /// - Throws: What ends the process with 64, if there is none.
    static func named(_ name: String) throws -> ProviderPreset {
        let (preset, meant) = find(name.lowercased(), among: PresetsFeature.all)
        guard let preset else {
            throw failed("there is no preset of this name; `latchkey providers` lists them\(meant)", 64)
        }
        return preset
    }

    /// For people.
    package var title: String { setting("name") ?? name }

    /// The keys that a section must have.
    package var needed: [Key] { parameters.filter { $0.usual == nil } + needs }

    /// The parameters that it may leave out.
    package var optional: [Key] { parameters.filter { $0.usual != nil } }

    /// What to do at the provider.
    /// - Parameter publicURL: Without a slash at its end.
    func instructions(at publicURL: String) -> [String] {
        let path = "\(publicURL)/auth/\(name)"
        let refresh = refreshTexts.joined(separator: "; ")
        return [
            "\(title): \(console)", registration.replacing("{callback}", with: "\(path)/callback"),
            "The address to which the provider sends browsers back: \(path)/callback",
        ] + (lacks.contains("logout") ? [] : ["After a logout, to be registered too: \(path)/logged-out"])
            + (refresh.isEmpty ? [] : ["With store_tokens: true, it also has \(refresh)."])
            + (lacks.isEmpty ? [] : ["It lacks: \(lacks.joined(separator: ", "))"]) + ["From: \(source)"]
    }

    /// The lines of its section of `providers`, with that key; what it may leave out is a comment.
    /// - Parameter values: In place of the examples, and others.
    package func section(with values: [(name: String, value: String)]) -> [String] {
        var entries = needed.map { (name: $0.name, value: $0.example) }
        for value in values {
            if let index = entries.firstIndex(where: { Self.isOneKey($0.name, value.name) }) {
                entries[index] = value
            } else {
                entries.append(value)
            }
        }
        return ["providers:", "  \(name):"]
            + entries.map { "    \($0.name): \(JSONValue.string($0.value).text)" }
            + optional.filter { key in !entries.contains { $0.name == key.name } }.map { key in
                "    # \(key.name): \(JSONValue.string(key.example).text)    # default: \(key.usual ?? "")"
            }
    }

    /// A secret and its file are one key.
    static func isOneKey(_ left: String, _ right: String) -> Bool {
        left.replacing("_file", with: "") == right.replacing("_file", with: "")
    }

    var json: String {
        JSONObjectWriter.text { json in
            json.add("name", name)
            json.add("title", title)
            json.add("kind", setting("kind") ?? "")
            json.add("needs", needed.map(\.name))
            json.add("lacks", lacks)
            json.add("with_store_tokens", refreshTexts)
            json.add("console", console)
            json.add("source", source)
        }
    }
}
