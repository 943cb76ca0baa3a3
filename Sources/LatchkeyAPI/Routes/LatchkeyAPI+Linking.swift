import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Adding a way to sign in (docs/accounts.md), and the providers' resources (docs/providers.md).
extension LatchkeyAPI {
    func linkIdentity(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let fields = try BodyFields(request, from: caller.admission)
        var reader = FieldReader(fields)
        guard let provider = reader.text("provider", limit: 64, required: true) else {
            throw reader.refusal()
        }
        let link = try await linkRequest(fields, at: provider, request, caller)
        try caller.admission.check(link.clientID.text)
        return try await useCases.linkIdentity(link, token: caller.token, holder: caller.holder).response
    }

    private func linkRequest(
        _ fields: BodyFields, at provider: String, _ request: Request, _ caller: SignedInCaller
    ) async throws -> SignInRequest {
        guard useCases.providers.hasOperators(provider) else {
            return try SignInRequest(fields, at: try useCases.providers.find(withoutOperators: provider))
        }
        // Before Telco Finder is asked for the operator.
        try useCases.linkIdentity.checkAge(of: caller.holder.session)
        return try await SignInRequest(
            operatorTokenIn: fields, provider: provider, useCases.signIn,
            caller: terms(of: request, caller.admission).of(caller.holder.user.id))
    }

    /// The provider's JSON as it is; nothing else of its answer.
    func showResource(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let name = request.parameters["name"] ?? ""
        return .json(.ok, try await useCases.resources(name, of: request.provider, for: caller.holder))
    }
}

extension LinkIdentity.Linked {
    fileprivate var response: Response {
        return .json(isNew ? .created : .ok, capacity: 256) { json in
            json.add("id", identity.id)
            json.add("issuer", identity.issuer)
            json.add("created_at", identity.createdAt.secondsSinceEpoch)
            json.add("correlation_id", correlationID.text)
        }
    }
}
