/// What becomes of somebody's need for signing keys that are not at hand.
public enum KeyFetch: Sendable {
    /// They are waited for from now on.
    case began
    /// They are not any more, whether or not they came.
    case ended
}
