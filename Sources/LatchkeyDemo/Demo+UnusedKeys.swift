package import LatchkeyConfiguration

extension Demo {
    /// The keys that the demonstration has values of its own for, beside those of `zenkey`, with what sets them.
    private static let ownKeys = [
        "allow_loopback_http": nil, "api_keys": nil, "console": nil, "database.url": "--database", "http.host": nil,
        "http.port": "--port",
    ]

    /// The keys of a configuration that the demonstration does not use, in the order of the reference: one line each,
    /// with the place of the value and what to do. Never holds a value.
    package static func unusedKeys(of loaded: LoadedConfiguration) -> [String] {
        ConfigurationReference.keys.compactMap { key in
            guard let origin = loaded.origins[key.name],
                key.name.hasPrefix("zenkey.") || ownKeys.keys.contains(key.name)
            else { return nil }
            let option = ownKeys[key.name].flatMap(\.self).map { "give \($0), or " } ?? ""
            return "\(key.name): is not used, because the demonstration has a value of its own; \(option)run latchkey "
                + "serve with it [\(origin)]"
        }
    }
}
