import LatchkeyAPI
import OpenIDConnect
import Primitives

/// Tells the stories of a demonstration each outbound request, with its response and duration.
struct NarratedClient: HTTPClient {
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
