/// What kind of frontend a redirect sign-in is for, which decides how its end is told.
public enum ClientType: String, Sendable, CaseIterable {
    /// A page in the same browser: the session travels in a cookie.
    case web
    case ios
    case android
    /// A window of its own that tells the page that opened it.
    case popup
    /// A page of another origin in the same browser, to which a cookie of this server's is of no use: it gets a
    /// `session_id` like an app, good only with its code verifier.
    case spa

    /// Whether the browser that starts is the one that must come back.
    var isBoundToBrowser: Bool { self == .web || self == .popup || self == .spa }
}
