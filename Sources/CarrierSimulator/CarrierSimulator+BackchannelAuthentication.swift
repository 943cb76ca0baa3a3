import HTTPTypes
import Primitives

extension CarrierSimulator {
    /// How a backchannel authentication request ends.
    public enum Decision: Sendable, Hashable {
        case approved
        /// The carrier's error code, such as `access_denied` or `authentication_timed_out`.
        case failed(String)
    }

    /// The `auth_req_id`s of the requests that a carrier accepted, oldest first.
    public func backchannelAuthenticationRequests(at mccmnc: String) -> [String] {
        withState { state in state.backchannelRequests.all.filter { $0.mccmnc == mccmnc }.map(\.id) }
    }

    /// Ends a backchannel authentication request and posts the result to the relying party's notification endpoint.
    /// - Parameter id: The `auth_req_id`.
    /// - Returns: The status of each response of the relying party.
    /// - Throws: ``Refusal`` for an unknown id; ``NotificationFailure`` if the endpoint does not respond.
    @discardableResult
    public func complete(_ id: String, _ decision: Decision) async throws -> [Int] {
        guard let request = withState({ $0.backchannelRequests[id] }),
            let site = withState({ $0.site(request.mccmnc) }), let user = site.carrier.user(request.userID)
        else { throw Refusal("not_found", "There is no such request.", status: .notFound) }
        var members: JSONMembers = ["auth_req_id": .string(request.id)]
        members["state"] = .string(request.state)
        switch decision {
        case .failed(let code):
            members["error"] = .string(code)
            members["error_description"] = "The simulated user or carrier chose this error."
        case .approved: try await addTokens(to: &members, request, site, user)
        }
        if site.has(.notificationOtherID) { members["auth_req_id"] = "another-request" }
        if site.has(.notificationOtherState) { members["state"] = "another-state" }
        if site.has(.notificationMissingIDToken) { members["id_token"] = nil }
        var token = request.notificationToken
        if site.has(.notificationWrongToken) { token = String(repeating: "A", count: token.utf8.count) }
        var statuses: [Int] = []
        for _ in 0..<(site.has(.notificationTwice) ? 2 : 1) {
            statuses.append(
                try await NotificationSender.post(members.serialized, bearing: token, to: request.notificationURL))
        }
        return statuses
    }

    private func addTokens(
        to members: inout JSONMembers, _ request: BackchannelAuthenticationRequest, _ site: CarrierSite, _ user: User
    ) async throws {
        let now = clock.now()
        let grant = Grant(mccmnc: site.mccmnc, terms: request.terms, user: user, approvedAt: now)
        guard let client = clients[request.terms.clientID] else { return }
        let accessToken = random.token()
        let end = now.advanced(bySeconds: Grant.tokenLifetime)
        withState { $0.accessTokens.put(.init(grant: grant, expiresAt: end), for: accessToken) }
        let issuer = IDTokenIssuer(simulator: self, site: site, client: client)
        members["scope"] = .string(grant.terms.scopes.joined(separator: " "))
        members["access_token"] = .string(accessToken)
        members["token_type"] = "Bearer"
        members["expires_in"] = .integer(Grant.tokenLifetime)
        members["refresh_token"] = .string(random.token())
        members["id_token"] = .string(
            try await issuer.issue(for: grant, accessToken: accessToken, requestID: request.id, now: now))
    }
}
