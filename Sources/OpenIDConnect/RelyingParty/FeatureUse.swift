/// Whether a feature of the protocols is used at a provider, whose metadata may demand it. The raw value is its name in
/// the configuration.
public enum FeatureUse: String, Sendable, Hashable, CaseIterable {
    /// If the provider's metadata demands it. Some features are also used where the metadata supports them; their
    /// settings say so.
    case auto
    /// Always, whatever the provider's metadata says.
    case always
    /// Not even if the provider's metadata demands it.
    case never

    /// Whether a feature is used that ``auto`` uses only where the metadata demands it.
    package func applies(ifDemanded isDemanded: Bool) -> Bool {
        switch self {
        case .auto: isDemanded
        case .always: true
        case .never: false
        }
    }
}
