import HTTPServer
import HTTPTypes
import SignIn

/// What providers have for their users (docs/providers.md).
extension LatchkeyAPI {
    /// The provider's JSON as it is; nothing else of its answer.
    func showResource(_ request: Request) async throws -> Response {
        let holder = try await holder(of: request)
        return .json(
            .ok,
            try await useCases.resources(request.parameters["name"] ?? "", of: request.provider, for: holder))
    }
}
