/// Marks a wait for a provider's signing keys.
public enum KeyFetch: Sendable {
    /// The wait begins, because the keys are not cached.
    case began
    /// The wait ends, with or without keys.
    case ended
}
