import HTTPTypes
import Primitives

extension CarrierSimulator {
    /// What comes of asking a user on their phone.
    public enum Decision: Sendable, Hashable {
        case approved
        /// With a carrier's error code, such as `access_denied` or `authentication_timed_out`.
        case failed(String)
    }

    /// The requests that were taken on at a carrier, oldest first, by the carrier's own ids.
    public func backchannelAuthenticationRequests(at mccmnc: String) -> [String] {
        withState { state in state.serverInitiated.all.filter { $0.mccmnc == mccmnc }.map(\.id) }
    }

    /// Ends a request, and tells the relying party at its notification endpoint, for real.
    /// - Returns: The status of each answer that the relying party gave.
    /// - Throws: ``Refusal`` for an unknown id; ``NotificationFailure`` if the endpoint does not answer.
    @discardableResult
    public func answer(_ id: String, _ decision: Decision) async throws -> [Int] {
        guard let request = withState({ $0.serverInitiated[id] }),
            let site = withState({ $0.site(request.mccmnc) }), let user = site.carrier.user(request.userID)
        else { throw Refusal("not_found", "There is no such request.", status: .notFound) }
        var notification = Notification(request, site)
        switch decision {
        case .failed(let code):
            notification.members["error"] = .text(code)
            notification.members["error_description"] = "The simulated user or carrier said so."
        case .approved:
            try await addTokens(to: &notification, request, site, user)
        }
        notification.spoil(site)
        var statuses: [Int] = []
        for _ in 0..<(site.has(.notificationTwice) ? 2 : 1) {
            statuses.append(try await notification.send(to: request.notificationURL))
        }
        return statuses
    }

    private func addTokens(
        to notification: inout Notification, _ request: BackchannelAuthenticationRequest, _ site: CarrierSite,
        _ user: User
    ) async throws {
        let now = clock.now()
        let grant = Grant(mccmnc: site.mccmnc, terms: request.terms, user: user, approvedAt: now)
        guard let client = clients[request.terms.clientID] else { return }
        let accessToken = random.token()
        let end = now.advanced(bySeconds: Grant.tokenLifetime)
        withState { $0.accessTokens.put(.init(grant: grant, expiresAt: end), for: accessToken) }
        let issuer = IDTokenIssuer(simulator: self, site: site, client: client)
        notification.members["scope"] = .text(grant.terms.scopes.joined(separator: " "))
        notification.members["access_token"] = .text(accessToken)
        notification.members["token_type"] = "Bearer"
        notification.members["expires_in"] = .number(Grant.tokenLifetime)
        notification.members["refresh_token"] = .text(random.token())
        notification.members["id_token"] = .text(
            try await issuer.issue(for: grant, accessToken: accessToken, requestID: request.id, now: now))
    }
}

/// What a carrier tells a relying party.
private struct Notification: Sendable {
    var members: JSONMembers
    var token: String

    init(_ request: BackchannelAuthenticationRequest, _ site: CarrierSite) {
        members = ["auth_req_id": .text(request.id)]
        members["state"] = request.state.map(JSON.text)
        token = request.notificationToken
    }

    mutating func spoil(_ site: CarrierSite) {
        if site.has(.notificationOtherID) { members["auth_req_id"] = "another-request" }
        if site.has(.notificationOtherState) { members["state"] = "another-state" }
        if site.has(.notificationMissingIDToken) { members["id_token"] = nil }
        if site.has(.notificationWrongToken) { token = String(repeating: "A", count: token.utf8.count) }
    }

    func send(to url: NotificationURL) async throws -> Int {
        try await NotificationSender.post(members.serialized, bearing: token, to: url)
    }
}
