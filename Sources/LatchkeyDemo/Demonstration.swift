package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
import LatchkeyConfiguration
package import LatchkeyService
package import Primitives
package import SignIn

/// What a page of the demonstration needs to act as the phone that gets a code from its carrier, and as the service
/// that redeems a receipt.
package struct DemonstrationSettings: FeatureSettings {
    /// The origin of the simulated carriers; empty for no demonstration.
    package var carriersURL = ""
    /// The API key of the app and the service; not secret.
    package var apiKey = ""

    package init() {}
}

/// The pages of `latchkey-dev demo`.
package struct Demonstration: Feature {
    private let settings: DemonstrationSettings
    /// What happened between the server and the carriers.
    private let stories: SignInStories

    package init?(_ settings: DemonstrationSettings, in context: FeatureContext) {
        guard !settings.carriersURL.isEmpty else { return nil }
        self.settings = settings
        stories = SignInStories(clock: context.clock)
    }

    package var connectedOrigins: [String] { [settings.carriersURL] }

    package func describe(in json: inout JSONObjectWriter) {
        json.add("demo") { json in
            json.add("carriers_url", settings.carriersURL)
            json.add("api_key", settings.apiKey)
        }
    }

    /// `GET /demo/sign-ins?after=N`: what happened between the server and the carriers since revision `N`. For
    /// those who may see the status page; no part of the API.
    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.get("/demo/sign-ins") { [stories] request in
            try await api.admitAdministrator(request)
            let revision = (try request.query)["after"].flatMap { UInt64($0) } ?? 0
            return .json(.ok, Array(stories.json(after: revision).text.utf8))
        }
    }

    package func client(_ client: any HTTPClient) -> any HTTPClient {
        RecordingClient(client: client, stories: stories)
    }

    package var idTokenObserver: IDTokenObserver? { { [stories] in stories.note($0, of: $1) } }

    package var signInObserver: SignInObserver? { { [stories] report in stories.note(report) } }
}

/// Tells the stories of a demonstration each outbound request, with its response and duration.
private struct RecordingClient: HTTPClient {
    let client: any HTTPClient
    let stories: SignInStories

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let stopwatch = Stopwatch()
        let result: Result<OutboundResponse, OutboundError>
        do throws(OutboundError) {
            result = .success(try await client.send(request))
        } catch {
            result = .failure(error)
        }
        stories.note(request, result, took: stopwatch.nanoseconds)
        return try result.get()
    }
}
