public import LatchkeyConfiguration

/// `capsules`: how many capsules of failed sign-ins are kept, and how long.
public struct CapsuleSettings: FeatureSettings, Hashable {
    /// The most that are kept; 0 makes none.
    public var count = 1000
    /// How long one is kept.
    public var retention = Duration.seconds(7 * 86_400)
    /// The most that one instance makes in a minute.
    public var maximumPerMinute = 30

    /// The defaults.
    public init() {}

    /// The keys.
    public static let settings = [
        Setting(
            "capsules.count", .integer(0...100_000), \CapsuleSettings.count,
            "The most capsules of failed sign-ins that are kept; 0 makes none."),
        Setting(
            "capsules.retention", .duration(60...31_536_000), \.retention,
            "How long the capsule of a failed sign-in is kept."),
        Setting(
            "capsules.per_minute", .integer(1...1_000_000), \.maximumPerMinute,
            "The most capsules that one instance makes in a minute."),
    ]
}
