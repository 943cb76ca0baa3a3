import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService

/// All settings, as the documents list them.
let settings = FeatureList.standard.settings

/// The settings that serving requires.
let needed = [
    "LATCHKEY_API_KEYS": "sha256:" + String(repeating: "0f", count: 32),
    "LATCHKEY_ZENKEY_DISCOVERY_URL": "https://discovery.example.com/.well-known/openid_configuration",
    "LATCHKEY_ZENKEY_CLIENTS": "ccid-1:environment-secret",
]

/// Files in memory.
func files(_ texts: [String: String], readableByAll: Bool = false) -> FileReader {
    FileReader { (path, limit) throws(FileReader.ReadError) in
        guard let text = texts[path] else { throw .notFound }
        guard text.utf8.count <= limit else { throw .tooLarge }
        return FileReader.Contents(bytes: Array(text.utf8), isReadableByAll: readableByAll)
    }
}

/// Loads a text as the file `test.yaml`, with an environment.
func load(
    _ text: String = "", environment: [String: String] = needed, files others: [String: String] = [:],
    readableByAll: Bool = false, purpose: ConfigurationLoader.Purpose = .serve, of settings: Settings = settings
) throws(ConfigurationErrors) -> LoadedConfiguration {
    let all = others.merging(["test.yaml": text]) { $1 }
    let loader = ConfigurationLoader(settings, files: files(all, readableByAll: readableByAll))
    return try loader.load(file: "test.yaml", environment: environment, purpose: purpose)
}

/// The problems of a text and an environment, one line each.
func problems(
    _ text: String = "", environment: [String: String] = needed, files: [String: String] = [:],
    purpose: ConfigurationLoader.Purpose = .serve, of settings: Settings = settings
) -> [String] {
    do throws(ConfigurationErrors) {
        _ = try load(text, environment: environment, files: files, purpose: purpose, of: settings)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

extension Dictionary<String, String> {
    /// With a variable set, or removed if nil.
    func with(_ name: String, _ value: String?) -> [String: String] {
        var copy = self
        copy[name] = value
        return copy
    }
}
