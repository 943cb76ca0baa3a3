/// Makes a configuration from a file, environment variables and options of the command line.
///
/// ```swift
/// let loaded = try ConfigurationLoader().load(file: nil, environment: environment)
/// for warning in loaded.warnings { print(warning) }
/// ```
public struct ConfigurationLoader: Sendable {
    /// The use of a configuration, which decides what is required.
    public enum Purpose: Sendable {
        /// Requires API keys, clients and the discovery URL, and warns of unsafe settings.
        case serve
        /// Requires nothing: the demonstration has its own keys and carriers.
        case demo
        /// Requires nothing but the database, which has a default.
        case operation
        /// To find a running server, which began with a valid configuration: only problems of the file and of `http`
        /// count.
        case health
    }

    /// The file that is read if no other is named; it may be missing.
    public static let defaultFile = "Config/latchkey.yaml"

    private let settings: Settings
    private let files: FileReader

    /// - Parameter files: Reads the configuration file and the files that it names.
    public init(_ settings: Settings = .core, files: FileReader = .system) {
        self.settings = settings
        self.files = files
    }

    /// Reads the configuration and reports all problems at once.
    ///
    /// - Parameters:
    ///   - file: The file that the administrator named, which must exist; nil for ``defaultFile``, which may be
    ///     missing.
    ///   - environment: Variables by name; those that begin with `LATCHKEY_` are read and override the file.
    ///   - arguments: Settings of the command line, which override the variables.
    /// - Throws: ``ConfigurationErrors`` with every problem found.
    public func load(
        file: String?, environment: [String: String], arguments: SettingArguments = SettingArguments(),
        purpose: Purpose = .serve
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var context = ReadingContext(files: files, settings: settings)
        let document = readFile(named: file, &context)
        var reader = SettingsReader(settings.all)
        reader.collect(document?.entries ?? [], &context)
        let variables = EnvironmentOverrides(environment, settings, &context)

        var configuration = Configuration()
        configuration.settings = settings
        var origins: [String: ConfigurationOrigin] = [:]
        let secretNames = SettingGroup.secretNames(of: settings)
        var secretsInFile: Set<String> = []
        for setting in settings.all {
            let argument = arguments.node(of: setting.name, &context)
            let override = argument ?? variables.values[setting.name]
            if let node = reader.values[setting.name], override == nil || setting.isMerged {
                setting.apply(node, to: &configuration, &context)
                origins[setting.name] = node.origin
                if setting.isSecret, node.holdsSecret(secretNames) { secretsInFile.insert(setting.name) }
            }
            if let override {
                setting.apply(override, to: &configuration, &context)
                origins[setting.name] = override.origin
            }
            if let successor = setting.successor, let origin = origins[setting.name] {
                context.warnOfReplaced(setting.name, by: successor, origin)
            }
            context.policy = configuration.endpointPolicy
            context.publicURL = configuration.publicURL
        }
        configuration.zenkey.clients = context.clients.finished(beneath: "." + ClientDraft.setting.name, &context)

        let given = Set(origins.keys).union(arguments.values.keys).union(variables.broken).union(reader.broken)
        var check = ConfigurationCheck(
            configuration: configuration, origins: origins, secretsInFile: secretsInFile, context: context)
        if purpose == .serve, document != nil { check.requireWhatServingNeeds(given: given) }
        if purpose == .serve { check.requireVaultKey(given: given) }
        check.refuseContradictions()
        check.refuseWhatTheBuildLacks()
        if purpose == .serve {
            check.refuseUnusableTLS()
            check.warnOfUnsafeSettings(document)
        }
        let isRefused = check.context.problems.problems.contains {
            purpose != .health || $0.key.isEmpty || $0.key.hasPrefix("http")
        }
        guard !isRefused else {
            throw ConfigurationErrors(
                check.context.problems, warnings: check.context.warnings,
                missingFile: document?.isMissing == true ? Self.defaultFile : nil)
        }
        return LoadedConfiguration(
            configuration: configuration, warnings: check.context.warnings.problems, origins: origins)
    }

    /// The contents of the file, empty if it is missing; nil after reporting that it cannot be read.
    private func readFile(named name: String?, _ context: inout ReadingContext) -> ConfigurationDocument? {
        let path = name ?? Self.defaultFile
        let origin = ConfigurationOrigin.file(path: path, line: nil)
        let contents: FileReader.Contents
        do throws(FileReader.ReadError) {
            contents = try files.contents(of: path, limit: YAMLDocument.maximumBytes)
        } catch {
            if error == .notFound, name == nil { return ConfigurationDocument(isMissing: true) }
            let limit = "\(YAMLDocument.maximumBytes >> 20) MiB"
            context.problems.add("", origin, error.reason, "name a readable file of at most \(limit) with --config")
            return nil
        }
        do throws(YAMLDocument.YAMLError) {
            let entries = try YAMLDocument.read(contents.bytes, path: path, settings)
            return ConfigurationDocument(entries: entries, isReadableByAll: contents.isReadableByAll)
        } catch {
            context.problems.add("", .file(path: path, line: error.line), error.reason, error.remedy)
            return nil
        }
    }

}

/// A configuration that was read, and the warnings about it.
public struct LoadedConfiguration: Sendable {
    public let configuration: Configuration
    /// The settings that are unsafe or have no effect, and former names of keys.
    public let warnings: [ConfigurationProblem]
    /// The places of the keys that are set; all others have their defaults.
    public let origins: [String: ConfigurationOrigin]
}

struct ConfigurationDocument: Sendable {
    var entries: [ConfigurationEntry] = []
    var isReadableByAll = false
    var isMissing = false
}
