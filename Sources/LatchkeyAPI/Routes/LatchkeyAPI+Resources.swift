import HTTPServer
import HTTPTypes
import SignIn

/// What providers have for their users (docs/providers.md).
extension LatchkeyAPI {
    /// The provider's JSON as it is; nothing else of its answer.
    func showResource(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let name = request.parameters["name"] ?? ""
        return .json(.ok, try await useCases.resources(name, of: request.provider, for: caller.holder))
    }
}
