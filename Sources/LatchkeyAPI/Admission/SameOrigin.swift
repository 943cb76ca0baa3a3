import HTTPServer
import HTTPTypes

/// Checks that a browser reports a page of this server as the origin of a request.
///
/// Scripts cannot set either field, so another site's page cannot use a session cookie to change something. A browser
/// that sends neither is too old, and is refused.
enum SameOrigin {
    static func isSent(by request: Request, to publicOrigin: String?) -> Bool {
        if let site = request.headers[.secFetchSite] { return site == "same-origin" }
        guard let origin = request.headers[.origin], let publicOrigin else { return false }
        return origin == publicOrigin
    }
}
