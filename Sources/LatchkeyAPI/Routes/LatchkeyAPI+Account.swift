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
}
