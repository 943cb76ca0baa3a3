import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel

/// The routes about a user's own account.
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
}
