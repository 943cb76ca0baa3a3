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

    /// Values that are valid each by itself and contradict each other, or cannot be used by this build: the key that is
    /// to blame, what is wrong with it, and what to do.
    /// - Parameter configuration: All settings, these among them.
    func contradictions(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)]

    /// Values that may be intended, and remove a defence or have no effect: as ``contradictions(in:)``.
    /// - Parameter configuration: All settings, these among them.
    func warnings(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)]
}

extension FeatureSettings {
    /// No keys: the program sets the values.
    public static var settings: [Setting<Self>] { [] }

    public func contradictions(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] {
        []
    }

    public func warnings(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] { [] }

    static func contradictions(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] {
        configuration[Self.self].contradictions(in: configuration)
    }

    static func warnings(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] {
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
        get { features[ObjectIdentifier(Group.self)] as? Group ?? Group() }
        set { features[ObjectIdentifier(Group.self)] = newValue }
    }
}

extension Setting where Root: FeatureSettings {
    fileprivate var inConfiguration: Setting<Configuration> {
        Setting<Configuration>(
            name: name, formerName: formerName, type: type, schema: schema, isSecret: isSecret, isMerged: isMerged,
            meaning: meaning, set: { [set] in set($0, &$1[Root.self], &$2) }, show: { [show] in show($0[Root.self]) },
            successor: successor, reload: reload)
    }
}
