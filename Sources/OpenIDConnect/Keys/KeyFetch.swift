/// Marks a wait for a provider's signing keys.
public enum KeyFetch: Sendable {
    /// The wait begins, because the keys are not cached.
    case began
    /// The wait ends, and validation goes on with newer keys or with those at hand. It is not
    /// reported if there are no keys.
    case ended
}
