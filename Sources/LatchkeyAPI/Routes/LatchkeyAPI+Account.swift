import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel

/// The routes about a user's own account.
extension LatchkeyAPI {
    func showUser(_ request: Request) async throws -> Response {
        try await holder(of: request).user.response
    }

    func editUser(_ request: Request) async throws -> Response {
        let holder = try await holder(of: request)
        let edit = try ProfileEdit(BodyFields(request))
        return try await useCases.sessions.edit(edit, for: holder, requestID: request.id).response
    }

    func eraseUser(_ request: Request) async throws -> Response {
        try await useCases.sessions.eraseUser(
            holding: sessionToken(of: request), requestID: request.id)
        return withoutSession(.emptyObject, request)
    }

    func listIdentities(_ request: Request) async throws -> Response {
        let identities = try await useCases.sessions.identities(for: holder(of: request))
        var json = JSONObjectWriter(capacity: 160 * (identities.count + 1))
        json.add("identities", objects: identities) { identity, json in
            json.add("id", identity.id)
            json.add("issuer", identity.issuer)
            json.add("created_at", identity.createdAt.secondsSinceEpoch)
        }
        return .json(.ok, json.finish())
    }

    func unlinkIdentity(_ request: Request) async throws -> Response {
        try await useCases.sessions.unlink(
            request.parameters["id"] ?? "", for: holder(of: request), requestID: request.id)
        return .emptyObject
    }
}
