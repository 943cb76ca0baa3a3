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
            A provider of this list needs two or three keys in the configuration. Every other OpenID or OAuth 2 \
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
            "\(preset.name.padded(width + 2))\(preset.needed.map(\.name).joined(separator: ", "))"
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
            text: preset.instructions(at: publicURL) + ["", "The configuration:", ""]
                + preset.section(with: []).map { "  " + $0 },
            json: [preset.json]
        ).print(as: format.format)
    }
}

extension ProviderPreset {
    static let exampleURL = "https://login.example.com"

    /// - Throws: What ends the process with 64, if there is none.
    static func named(_ name: String) throws -> ProviderPreset {
        if let preset = PresetsFeature.all.first(where: { $0.name == name }) { return preset }
        throw failed("there is no preset of this name; `latchkey providers` lists them", 64)
    }

    /// For people.
    package var title: String { setting("name") ?? name }

    /// The keys that a section must have.
    package var needed: [Key] { parameters.filter { $0.usual == nil } + needs }

    /// What to do at the provider.
    func instructions(at publicURL: String) -> [String] {
        let base = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
        return [
            "\(title): \(console)", registration.replacing("{callback}", with: "\(base)/auth/\(name)/callback"),
            "The address to which the provider sends browsers back: \(base)/auth/\(name)/callback",
        ] + (lacks.isEmpty ? [] : ["It lacks: \(lacks.joined(separator: ", "))"]) + ["From: \(source)"]
    }

    /// The lines of its section of `providers`, with that key.
    /// - Parameter values: In place of the examples, and others.
    package func section(with values: [(name: String, value: String)]) -> [String] {
        var entries = needed.map { (name: $0.name, value: $0.example) }
        for value in values {
            // A secret and its file are one key.
            let name = value.name.replacing("_file", with: "")
            if let index = entries.firstIndex(where: { $0.name.replacing("_file", with: "") == name }) {
                entries[index] = value
            } else {
                entries.append(value)
            }
        }
        return ["providers:", "  \(name):"]
            + entries.map { "    \($0.name): \(JSONValue.string($0.value).text)" }
    }

    var json: String {
        JSONObjectWriter.text { json in
            json.add("name", name)
            json.add("title", title)
            json.add("kind", setting("kind") ?? "")
            json.add("needs", needed.map(\.name))
            json.add("lacks", lacks)
            json.add("console", console)
            json.add("source", source)
        }
    }
}
