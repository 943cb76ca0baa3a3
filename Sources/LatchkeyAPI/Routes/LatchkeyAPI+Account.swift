import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel

/// The routes about a user's own account.
extension LatchkeyAPI {
    func showUser(_ caller: SignedInCaller) -> Response { respond(caller.holder.user) }

    func editUser(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let edit = try ProfileEdit(BodyFields(request))
        return respond(try await useCases.sessions.edit(edit, for: caller.holder, requestID: request.id))
    }

    private func respond(_ user: User) -> Response {
        user.response(useCases.claimsVault.claims(of: user), compatibility)
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
