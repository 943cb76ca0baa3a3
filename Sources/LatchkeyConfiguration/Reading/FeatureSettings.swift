package import SignIn

/// The settings of a feature. They are in the configuration like those of the core.
///
/// ```swift
/// struct Greeting: FeatureSettings {
///     var name = "world"
///     static let settings = [Setting("greeting.name", .shownName, \Greeting.name, "Whom GET /greeting greets.")]
/// }
/// let name = configuration[Greeting.self].name
/// ```
public protocol FeatureSettings: Sendable {
    init()

    /// The keys, such as `greeting.name`.
    static var settings: [Setting<Self>] { get }

    /// Values that are valid each by itself and contradict each other, or cannot be used by this build.
    /// - Parameter configuration: All settings, these among them.
    func contradictions(in configuration: Configuration) -> [SettingNote]

    /// Values that may be intended, and remove a defence or have no effect.
    /// - Parameter configuration: All settings, these among them.
    func warnings(in configuration: Configuration) -> [SettingNote]
}

/// The key that is to blame, what is wrong with it, and what to do.
public typealias SettingNote = (key: String, reason: String, remedy: String)

extension FeatureSettings {
    /// No keys: the program sets the values.
    public static var settings: [Setting<Self>] { [] }

    public func contradictions(in configuration: Configuration) -> [SettingNote] { [] }

    public func warnings(in configuration: Configuration) -> [SettingNote] { [] }

    static func contradictions(in configuration: Configuration) -> [SettingNote] {
        configuration[Self.self].contradictions(in: configuration)
    }

    static func warnings(in configuration: Configuration) -> [SettingNote] {
        configuration[Self.self].warnings(in: configuration)
    }

    static var inConfiguration: [Setting<Configuration>] { settings.map(\.inConfiguration) }
}

/// The settings of a feature that has none.
public struct NoSettings: FeatureSettings {
    public init() {}
}

extension Configuration {
    public subscript<Group: FeatureSettings>(_: Group.Type) -> Group {
        get { features[Group.self] ?? Group() }
        set { features[Group.self] = newValue }
    }
}

/// Values of features, each by its type.
struct FeatureValues: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    subscript<Value: Sendable>(_ type: Value.Type) -> Value? {
        get { values[ObjectIdentifier(type)] as? Value }
        set { values[ObjectIdentifier(type)] = newValue }
    }
}

/// Makes the providers of a section whose keys are read; none after reporting what is wrong.
package typealias ProviderReader =
    @Sendable (inout ProviderDraft, inout ReadingContext) -> [Configuration.Provider]

/// Kinds of provider that a feature brings: their readers, the keys that only they have, and of those that hold lists
/// of groups the name of such a group in the schema, with its keys.
package typealias ProviderKinds = (
    readers: [ProviderKind: ProviderReader], settings: [Setting<ProviderDraft>],
    lists: [(key: String, definition: String, settings: [Setting<ProviderDraft>])]
)

extension Setting where Root: FeatureSettings {
    fileprivate var inConfiguration: Setting<Configuration> {
        Setting<Configuration>(
            name: name, formerName: formerName, type: type, schema: schema, isSecret: isSecret, isMerged: isMerged,
            meaning: meaning, set: { [set] in set($0, &$1[Root.self], &$2) }, show: { [show] in show($0[Root.self]) },
            successor: successor, reload: reload, group: group)
    }
}
