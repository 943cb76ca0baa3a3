import HTTPServer
import HTTPTypes
import Primitives

extension LatchkeyAPI {
    /// `GET /demo/sign-ins?after=N`: what happened between the server and the carriers since revision `N`. For
    /// those who may see the status page.
    func showStories(_ request: Request, of demonstration: Demonstration) async throws -> Response {
        try await admitOperator(request)
        let revision = (try request.query)["after"].flatMap { UInt64($0) } ?? 0
        return .json(.ok, Array(demonstration.stories.json(after: revision).text.utf8))
    }
}
