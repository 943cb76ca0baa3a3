/// Marks a wait for a provider's signing keys.
public enum KeyFetch: Sendable {
    /// The wait begins, because the keys are not cached.
    case began
    /// The wait ends. Validation continues with the fetched keys, or with the cached ones if the fetch failed. The end
    /// is not reported if there are no keys.
    case ended
}
