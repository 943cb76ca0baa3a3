import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

extension LatchkeyAPI {
    func showUser(_ caller: SignedInCaller) -> Response { respond(caller.holder.user, to: caller) }

    func editUser(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let edit = try ProfileEdit(BodyFields(request, from: caller.admission))
        return respond(try await useCases.sessions.edit(edit, for: caller.holder, requestID: request.id), to: caller)
    }

    /// The user consented to share the further claims with one client: another client's session does not show them.
    private func respond(_ user: User, to caller: SignedInCaller) -> Response {
        user.response(useCases.claimsVault.claims(of: user, for: caller.holder.session.clientID), compatibility)
    }

    func eraseUser(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.sessions.eraseUser(caller.holder, requestID: request.id)
        return withoutSession(.emptyObject, request)
    }

    func listIdentities(_ caller: SignedInCaller) async throws -> Response {
        let identities = try await useCases.sessions.identities(for: caller.holder)
        return .json(.ok, capacity: 160 * (identities.count + 1)) { json in
            json.add("identities", objects: identities) { identity, json in
                json.add("id", identity.id)
                json.add("issuer", identity.issuer)
                json.add("created_at", identity.createdAt.secondsSinceEpoch)
            }
        }
    }

    func unlinkIdentity(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.sessions.unlink(request.parameters["id"] ?? "", for: caller.holder, requestID: request.id)
        return .emptyObject
    }

    /// Adding a way to sign in (docs/accounts.md).
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
        // Before the server is looked up.
        try useCases.linkIdentity.checkAge(of: caller.holder.session)
        return try await groupRequest(
            fields, at: provider, terms: terms(of: request, caller.admission).of(caller.holder.user.id))
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
