import HTTPServer
import HTTPTypes
import Primitives

/// What a page of the demonstration needs to act as the phone that gets a code from its carrier, and as the service
/// that redeems a receipt.
package struct Demonstration: Sendable {
    /// The origin of the simulated carriers.
    package let carriersURL: String
    /// The API key of the app and the service; not secret.
    package let apiKey: String
    /// What happened between the server and the carriers.
    package let stories = SignInStories()

    package init(carriersURL: String, apiKey: String) {
        self.carriersURL = carriersURL
        self.apiKey = apiKey
    }
}

extension LatchkeyAPI {
    /// `GET /demo/sign-ins?after=N`: what happened between the server and the carriers since revision `N`. For
    /// those who may see the status page.
    func showStories(_ request: Request, of demonstration: Demonstration) async throws -> Response {
        try await admitOperator(request)
        let revision = (try request.query)["after"].flatMap { UInt64($0) } ?? 0
        return .json(.ok, Array(demonstration.stories.json(after: revision).text.utf8))
    }
}
