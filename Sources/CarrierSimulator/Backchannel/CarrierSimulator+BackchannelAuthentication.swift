import HTTPServer
import HTTPTypes
import Primitives

extension CarrierSimulator {
    /// How a backchannel authentication request ends.
    public enum Decision: Sendable, Hashable {
        case approved
        /// The error code of the carrier or provider, such as `access_denied` or `authentication_timed_out`.
        case failed(String)
    }

    /// Registers where a client of an OpenID provider is notified (`backchannel_client_notification_endpoint`). From
    /// then on its mode is ping, otherwise poll.
    /// - Parameter url: Plain HTTP on 127.0.0.1. Any other URL registers the mode poll.
    public func register(notificationEndpoint url: String?, of clientID: String, at name: String) {
        withState { $0.notificationURLs["\(name) \(clientID)"] = url.flatMap(NotificationSender.url) }
    }

    /// The `auth_req_id`s of the requests that a carrier, operator or provider accepted, oldest first.
    public func backchannelAuthenticationRequests(at mccmnc: String) -> [String] {
        withState { $0.backchannelRequests.keys { $0.grant.mccmnc == mccmnc } }
    }

    /// Ends a backchannel authentication request. A carrier posts the result to the relying party's notification
    /// endpoint; a provider in the mode ping posts there that there is one.
    /// - Parameter id: The `auth_req_id`.
    /// - Returns: The status of each response of the relying party; none for requests in the mode poll.
    /// - Throws: ``OAuthError`` for an unknown id; ``NotificationError`` if the endpoint does not respond.
    @discardableResult
    public func complete(_ id: String, _ decision: Decision) async throws -> [Int] {
        let now = clock.now()
        // The result is there before the ping is, because the client may ask for it at once (CIBA Core section 10.2).
        let request = withState { state in
            state.backchannelRequests.update(id) { request in
                request.decision = decision
                request.grant.approvedAt = now
            }
            return state.backchannelRequests[id]
        }
        guard let request, let site = withState({ $0.site(request.grant.mccmnc) })
        else { throw OAuthError("not_found", "There is no such request.", status: .notFound) }
        guard let notification = request.notification else { return [] }
        var members: JSONMembers = ["auth_req_id": .string(id)]
        if site.carrier.isCarrier {
            try await addResult(decision, of: request, id, to: &members, site)
        } else if site.has(.notificationLost) {
            return []
        } else if site.has(.notificationWithTokens) {
            members["id_token"] = "e30.e30.e30"
            members["access_token"] = "pushed"
            members["error"] = "access_denied"
        }
        return try await notify(members, of: site, at: notification)
    }

    private func addResult(
        _ decision: Decision, of request: BackchannelRequest, _ id: String, to members: inout JSONMembers,
        _ site: CarrierSite
    ) async throws {
        members["state"] = .string(request.notification?.state)
        switch decision {
        case .failed(let code):
            members["error"] = .string(code)
            members["error_description"] = "The simulated user or carrier chose this error."
        case .approved:
            members.members += try await tokens(for: .init(grant: request.grant, requestID: id), at: site).members
            members["expires_in"] = .integer(site.carrier.accessTokenLifetime)
        }
        if site.has(.notificationOtherState) { members["state"] = "another-state" }
        if site.has(.notificationMissingIDToken) { members["id_token"] = nil }
    }

    /// Posts a notification, with the faults that all notifications can have.
    private func notify(
        _ members: JSONMembers, of site: CarrierSite, at notification: BackchannelRequest.Notification
    ) async throws -> [Int] {
        var (members, token) = (members, Optional(notification.token))
        if site.has(.notificationOtherID) { members["auth_req_id"] = "another-request" }
        if site.has(.notificationWrongToken) { token = token.map { String(repeating: "A", count: $0.utf8.count) } }
        if site.has(.notificationMissingToken) { token = nil }
        var statuses: [Int] = []
        for _ in 0..<(site.has(.notificationTwice) ? 2 : 1) {
            statuses.append(try await notifications.post(members.serialized, bearing: token, to: notification.url))
        }
        return statuses
    }

    /// Adds the decisions of a user who is asked on their phone, below the endpoint of a request:
    /// `POST …/{auth_req_id}/approve`, and `…/deny` with the error code in `error`.
    func addDecisions(below endpoint: String, to router: inout Router) {
        router.post(endpoint + "/{auth_req_id}/approve", Self.shared { try await self.decide($0) { _ in .approved } })
        router.post(
            endpoint + "/{auth_req_id}/deny",
            Self.shared { try await self.decide($0) { .failed($0["error"] ?? "access_denied") } })
    }

    /// The id `latest` names the latest request, because relying parties do not reveal the id.
    private func decide(_ request: Request, _ decision: (Parameters) -> Decision) async throws -> Response {
        let known = backchannelAuthenticationRequests(at: try site(of: request).mccmnc)
        let named = request.parameters["auth_req_id"] ?? ""
        guard let id = named == "latest" ? known.last : known.first(where: { $0 == named })
        else { throw OAuthError("not_found", "There is no such request.", status: .notFound) }
        let statuses = try await complete(id, decision(try Parameters(contentOf: request)))
        return .json(["notified": .array(statuses.map { .integer(Int64($0)) })])
    }
}
