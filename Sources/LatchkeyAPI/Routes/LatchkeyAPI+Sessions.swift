import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel

extension LatchkeyAPI {
    func refresh(_ request: Request, _ admission: Admission) async throws -> Response {
        guard !admission.isPage else { return try await refreshPage(request, admission) }
        var refresh = try RefreshRequest(BodyFields(request, from: admission), caller: admission.caller)
        refresh.clients = admission.clients
        return try await useCases.refresh(refresh).response(.ok)
    }

    func signOut(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.sessions.signOut(caller.holder)
        return withoutSession(.emptyObject, request)
    }

    func listSessions(_ caller: SignedInCaller) async throws -> Response {
        let sessions = try await useCases.sessions.list(for: caller.holder)
        return .json(.ok, capacity: 256 * (sessions.count + 1)) { json in
            json.add("sessions", objects: sessions) { session, json in
                json.add("id", session.id)
                json.add("client_id", session.clientID)
                json.add("device", orNull: session.device)
                json.add("created_at", session.createdAt.secondsSinceEpoch)
                json.add("last_seen_at", session.lastSeenAt.secondsSinceEpoch)
                json.add("expires_at", session.expiresAt.secondsSinceEpoch)
                json.add("current", session.id == caller.holder.session.id)
            }
        }
    }

    func revokeSession(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.sessions.revoke(request.parameters["id"] ?? "", for: caller.holder, requestID: request.id)
        return .emptyObject
    }

    func revokeOtherSessions(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let count = try await useCases.sessions.revokeOthers(than: caller.holder, requestID: request.id)
        return .json(.ok, capacity: 32) { json in json.add("revoked", count) }
    }
}
