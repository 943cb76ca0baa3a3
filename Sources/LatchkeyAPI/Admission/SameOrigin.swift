import HTTPServer
import HTTPTypes

/// Whether a browser says that a page of this very server made a request.
///
/// Scripts cannot set either field, so that another site's page cannot use a session cookie to change something. A browser
/// that sends neither is too old to be told apart, and is refused.
enum SameOrigin {
    static func isSent(by request: Request, to publicOrigin: String?) -> Bool {
        if let site = request.headers[.secFetchSite] { return site == "same-origin" }
        guard let origin = request.headers[.origin], let publicOrigin else { return false }
        return origin == publicOrigin
    }
}
