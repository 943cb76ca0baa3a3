/// Every key there is.
public enum ConfigurationReference {
    /// The keys in the reference's order; those of a client (`zenkey.clients[].id`), of an API key and of a provider
    /// (`providers[].kind`) follow the list or group they belong to.
    public static let keys: [ConfigurationKey] = Settings.all.flatMap { setting in
        let key = ConfigurationKey(setting, defaults: Configuration())
        switch setting.name {
        case ClientDraft.setting.name:
            return [key] + ClientDraft.settings.map { ConfigurationKey($0, in: setting.name, defaults: ClientDraft()) }
        case "api_keys":
            return [key] + APIKeyDraft.settings.map { ConfigurationKey($0, in: setting.name, defaults: APIKeyDraft()) }
        case ProviderDraft.setting.name:
            return [key]
                + ProviderDraft.settings.map { ConfigurationKey($0, in: setting.name, defaults: ProviderDraft()) }
        default: return [key]
        }
    }

    /// A configuration's values by key, in the reference's order, each on one line; secrets are not shown.
    public static func values(of configuration: Configuration) -> [(key: String, value: String)] {
        Settings.all.map { ($0.name, $0.show(configuration)) }
    }

    /// What all environment variables of the configuration start with.
    public static let environmentPrefix = "LATCHKEY_"

    /// `LATCHKEY_HTTP_PORT` for `http.port`.
    static func environmentName(of key: String) -> String {
        environmentPrefix + key.uppercased().split(separator: ".").joined(separator: "_")
    }

    static let environmentFileSuffix = "_FILE"
}

/// One key of the configuration.
public struct ConfigurationKey: Sendable, Hashable {
    /// What a running server takes over at SIGHUP.
    public enum Reload: Sendable, Hashable {
        /// A new value waits for the next start.
        case nothing
        case value
        /// What is in the file that is named; another name waits for the next start.
        case contentsOfFile
    }

    /// As in the file: `http.port`; `zenkey.clients[].id` for one of the keys of each client.
    public let name: String
    /// The environment variable that sets it; nil for the keys of each client, API key and provider.
    public let environmentName: String?
    /// What values it takes, with an article: `a whole number from 0 to 65535`.
    public let type: String
    /// As it would be written in the file; nil if there is none.
    public let defaultValue: String?
    /// Whether it is never shown, and may stand in a file of its own: `api_keys_file`, `LATCHKEY_API_KEYS_FILE`.
    public let isSecret: Bool
    public let reload: Reload
    /// One sentence or two.
    public let meaning: String

    init<Root>(_ setting: Setting<Root>, in list: String? = nil, defaults: Root) {
        name = list.map { "\($0)[].\(setting.name)" } ?? setting.name
        environmentName = list == nil ? ConfigurationReference.environmentName(of: setting.name) : nil
        type = setting.type
        let value = setting.show(defaults)
        defaultValue = value.isEmpty ? nil : value
        isSecret = setting.isSecret
        reload = setting.reload
        meaning = setting.meaning
    }
}
