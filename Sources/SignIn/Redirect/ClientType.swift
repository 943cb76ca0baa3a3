/// The kind of frontend of a redirect sign-in, which decides how it gets the session.
package enum ClientType: String, Sendable, CaseIterable {
    /// A page in the same browser: the session travels in a cookie.
    case web
    case ios
    case android
    /// A separate window, which posts the outcome to the page that opened it.
    case popup
    /// A page of another origin in the same browser, which cannot use this server's cookies. Like an app, it gets a
    /// `session_id`, good only with its code verifier.
    case spa

    /// Whether the browser that starts must be the one that comes back.
    var isBoundToBrowser: Bool { self == .web || self == .popup || self == .spa }
}
