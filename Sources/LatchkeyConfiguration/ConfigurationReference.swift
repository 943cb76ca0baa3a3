internal import Primitives

/// The keys of the configuration.
public enum ConfigurationReference {
    /// All keys of a program with these settings, in the reference's order. Those of a client
    /// (`zenkey.clients[].id`), of an API key and of a provider (`providers[].kind`) follow the list or group
    /// that they belong to.
    public static func keys(of settings: Settings) -> [ConfigurationKey] {
        let groups = SettingGroup.all(of: settings)
        return settings.all.filter { $0.successor == nil }.flatMap { setting in
            [ConfigurationKey(setting, defaults: Configuration())]
                + groups.filter { $0.list.prefix { $0 != "[" } == setting.name }.flatMap(\.keys)
        }
    }

    /// The values of a configuration by key, in the reference's order, each on one line, with secrets redacted. Keys of
    /// earlier versions that a present key replaces are among them.
    public static func values(of configuration: Configuration) -> [(key: String, value: String)] {
        configuration.settings.all.map { ($0.name, $0.show(configuration)) }
    }

    static func formerNames<Root>(of setting: Setting<Root>) -> [String] {
        (setting.formerName.map { [$0] } ?? []) + Settings.core.all.filter { $0.successor == setting.name }.map(\.name)
    }

    /// The prefix of the configuration's environment variables.
    public static let environmentPrefix = "LATCHKEY_"

    /// `LATCHKEY_HTTP_PORT` for `http.port`.
    static func environmentName(of key: String) -> String {
        environmentPrefix + words(of: key).joined(separator: "_").uppercased()
    }

    /// `--http-port` for `http.port`.
    static func optionName(of key: String) -> String {
        "--" + words(of: key).joined(separator: "-").replacing("_", with: "-")
    }

    /// The parts of a key. `enabled` switches its group, and has the group's variable: `LATCHKEY_RATE_LIMITS` for
    /// `rate_limits.enabled`.
    private static func words(of key: String) -> [Substring] {
        let words = key.split(separator: ".")
        return words.last == "enabled" ? words.dropLast() : words
    }

    static let environmentFileSuffix = "_FILE"
    static let optionFileSuffix = "-file"
}

/// The settings of each group in a list, such as a client.
struct SettingGroup: Sendable {
    /// The key that holds the groups.
    let list: String
    let definition: String
    let keys: [ConfigurationKey]
    let schema: JSONValue

    init<Draft>(
        _ list: String, _ definition: String, _ settings: [Setting<Draft>], defaults: Draft, isText: Bool = false
    ) {
        self.list = list
        self.definition = definition
        keys = settings.map { ConfigurationKey($0, in: list, defaults: defaults) }
        schema = ConfigurationSchema.group(of: settings, defaults: defaults, isText: isText).json
    }

    static func all(of settings: Settings) -> [SettingGroup] {
        let providers = ProviderDraft.setting.name
        return [
            SettingGroup("api_keys", "api_key", APIKeyDraft.settings, defaults: APIKeyDraft(), isText: true),
            SettingGroup(
                ClientDraft.setting.name, "client", ClientDraft.settings, defaults: ClientDraft(), isText: true),
            SettingGroup(providers, "provider", settings.ofProviders, defaults: ProviderDraft()),
        ]
            + settings.kinds.flatMap(\.lists).map {
                SettingGroup("\(providers)[].\($0.key)", $0.definition, $0.settings, defaults: ProviderDraft())
            }
            + settings.all.compactMap(\.group)
    }

    /// The names of the secrets of all groups. `telco_finder.private_key` is the key private_key of a group.
    static func secretNames(of settings: Settings) -> Set<String> {
        Set(
            all(of: settings).flatMap(\.keys).filter(\.isSecret)
                .compactMap { $0.name.split(separator: ".").last.map(String.init) })
    }
}

/// One key of the configuration.
public struct ConfigurationKey: Sendable, Hashable {
    /// What a running server takes over at SIGHUP.
    public enum Reload: Sendable, Hashable {
        /// Nothing: a new value applies from the next start.
        case nothing
        /// The new value.
        case value
        /// The new contents of the named file; a new file name applies from the next start.
        case contentsOfFile
    }

    /// As in the file: `http.port`; `zenkey.clients[].id` for a key of each client.
    public let name: String
    /// The names of earlier versions, which are accepted with a warning.
    public let formerNames: [String]
    /// The environment variable that sets it; nil for the keys of each client, API key and provider.
    public let environmentName: String?
    /// The option of `latchkey serve` that sets it, or for a secret the option that names its file; nil for the keys of
    /// each client, API key and provider.
    public let optionName: String?
    /// The values it takes, with an article: `a whole number from 0 to 65535`.
    public let type: String
    /// The default as it would be written in the file; nil if there is none.
    public let defaultValue: String?
    /// Whether it is never shown, and may be in a separate file: `api_keys_file`, `LATCHKEY_API_KEYS_FILE`.
    public let isSecret: Bool
    /// What SIGHUP takes over.
    public let reload: Reload
    /// One or two sentences.
    public let meaning: String

    init<Root>(_ setting: Setting<Root>, in list: String? = nil, defaults: Root) {
        name = list.map { "\($0)[].\(setting.name)" } ?? setting.name
        environmentName = list == nil ? ConfigurationReference.environmentName(of: setting.name) : nil
        let option = ConfigurationReference.optionName(of: setting.name)
        optionName = list == nil ? option + (setting.isSecret ? ConfigurationReference.optionFileSuffix : "") : nil
        formerNames = ConfigurationReference.formerNames(of: setting)
        type = setting.type
        let value = setting.show(defaults)
        defaultValue = value.isEmpty ? nil : value
        isSecret = setting.isSecret
        reload = setting.reload
        meaning = setting.meaning
    }
}
