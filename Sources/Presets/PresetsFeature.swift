package import ArgumentParser
import CLatchkeyPresets
package import LatchkeyConfiguration
package import LatchkeyService

/// Providers that are configured by their name (docs/providers.md): the table `presets.yaml`, and the commands
/// `latchkey providers` and `latchkey init`. It is no part of the running server.
package struct PresetsFeature: Feature {
    package init?(_ settings: NoSettings, in context: FeatureContext) { nil }

    package static var presets: (@Sendable () -> [ProviderPreset])? { { all } }

    /// Read once. A test reads the table, which is compiled in.
    package static let all = ProviderPreset.table(table) ?? []

    /// The bytes of `presets.yaml`.
    package static var table: [UInt8] { Array(UnsafeBufferPointer(start: cpresets_bytes(), count: cpresets_count())) }

    package static var commands: [any ParsableCommand.Type] { [ProvidersCommand.self, InitCommand.self] }
}
