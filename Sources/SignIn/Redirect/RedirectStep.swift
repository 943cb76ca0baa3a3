public import Primitives

/// Where the browser goes next.
public enum RedirectStep: Sendable {
    /// To the choice of a carrier, or to the carrier. `browser` is for a cookie that must come back with the answer.
    case goOn(to: String, browser: Secret?)
    case finished(RedirectEnd)
}
