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
        withState { $0.notificationURLs["\(name) \(clientID)"] = url.flatMap(NotificationURL.init) }
    }

    func notificationURL(of clientID: String, at name: String) -> NotificationURL? {
        withState { $0.notificationURLs["\(name) \(clientID)"] }
    }

    /// The `auth_req_id`s of the requests that a carrier, operator or provider accepted, oldest first.
    public func backchannelAuthenticationRequests(at mccmnc: String) -> [String] {
        withState { state in
            state.serverInitiatedRequests.keys { $0.mccmnc == mccmnc }
                + state.polledRequests.keys { $0.mccmnc == mccmnc }
        }
    }

    /// Ends a backchannel authentication request. A carrier posts the result to the relying party's notification
    /// endpoint; a provider in the mode ping posts there that there is one.
    /// - Parameter id: The `auth_req_id`.
    /// - Returns: The status of each response of the relying party; none for requests in the mode poll.
    /// - Throws: ``OAuthError`` for an unknown id; ``NotificationError`` if the endpoint does not respond.
    @discardableResult
    public func complete(_ id: String, _ decision: Decision) async throws -> [Int] {
        if let request = withState({ $0.serverInitiatedRequests[id] }) { return try await complete(request, decision) }
        guard let request = withState({ $0.polledRequests[id] })
        else { throw OAuthError("not_found", "There is no such request.", status: .notFound) }
        return try await complete(id, request, decision)
    }

    private func complete(_ request: ServerInitiatedRequest, _ decision: Decision) async throws -> [Int] {
        guard let site = withState({ $0.site(request.mccmnc) }), let user = site.carrier.user(request.userID)
        else { throw OAuthError("not_found", "There is no such request.", status: .notFound) }
        var members: JSONMembers = ["auth_req_id": .string(request.id)]
        members["state"] = .string(request.state)
        switch decision {
        case .failed(let code):
            members["error"] = .string(code)
            members["error_description"] = "The simulated user or carrier chose this error."
        case .approved: try await addTokens(to: &members, request, site, user)
        }
        if site.has(.notificationOtherState) { members["state"] = "another-state" }
        if site.has(.notificationMissingIDToken) { members["id_token"] = nil }
        return try await notify(members, of: site, at: request.notificationURL, bearing: request.notificationToken)
    }

    /// The result is there before the ping is, because the client may ask for it at once (CIBA Core section 10.2).
    private func complete(
        _ id: String, _ request: PolledRequest, _ decision: Decision
    ) async throws -> [Int] {
        guard let site = withState({ $0.site(request.mccmnc) }) else { return [] }
        withState { $0.polledRequests.update(id) { $0.decision = decision } }
        guard case .byProvider(let granted) = request.granted, let notification = granted.notification,
            !site.has(.notificationLost)
        else { return [] }
        var members: JSONMembers = ["auth_req_id": .string(id)]
        if site.has(.notificationWithTokens) {
            members["id_token"] = "e30.e30.e30"
            members["access_token"] = "pushed"
            members["error"] = "access_denied"
        }
        return try await notify(members, of: site, at: notification.url, bearing: notification.token)
    }

    /// Posts a notification, with the faults that all notifications can have.
    private func notify(
        _ members: JSONMembers, of site: CarrierSite, at url: NotificationURL, bearing token: String
    ) async throws -> [Int] {
        var (members, token) = (members, Optional(token))
        if site.has(.notificationOtherID) { members["auth_req_id"] = "another-request" }
        if site.has(.notificationWrongToken) { token = token.map { String(repeating: "A", count: $0.utf8.count) } }
        if site.has(.notificationMissingToken) { token = nil }
        var statuses: [Int] = []
        for _ in 0..<(site.has(.notificationTwice) ? 2 : 1) {
            statuses.append(try await NotificationSender.post(members.serialized, bearing: token, to: url))
        }
        return statuses
    }

    private func addTokens(
        to members: inout JSONMembers, _ request: ServerInitiatedRequest, _ site: CarrierSite, _ user: User
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

/// The users of backchannel authentication requests at OpenID providers (CIBA Core section 7.1).
extension CarrierSimulator {
    private static let hints = ["login_hint", "login_hint_token", "id_token_hint"]

    /// A `login_hint_token` about a user: opaque, and known to this provider only.
    /// - Returns: Nil if there is no such provider or user.
    public func makeLoginHintToken(at name: String, user: String? = nil) -> String? {
        guard let site = withState({ $0.site(name) }), let user = site.carrier.user(user) else { return nil }
        return makeLoginHint(site, userID: user.id)
    }

    /// Exactly one hint names a user of the provider.
    func user(hintedBy parameters: Parameters, at site: CarrierSite, client: Client) throws(OAuthError) -> User {
        let given = Self.hints.filter(parameters.has)
        guard given.count == 1, let name = given.first, let hint = parameters[name]
        else { throw .invalidRequest("There must be exactly one hint.") }
        let user: User?
        switch name {
        case "login_hint": user = site.carrier.user(named: hint)
        case "login_hint_token":
            let known = withState { $0.loginHints[hint] }
            guard let known, known.mccmnc == site.mccmnc
            else { throw OAuthError("expired_login_hint_token", "The login_hint_token is unknown or has expired.") }
            user = site.carrier.user(known.userID)
        default:
            // The provider knows the latest token that it issued.
            guard withState({ $0.latestIDTokens[site.mccmnc] }) == hint,
                let token = ReceivedJWS(hint, maximumBytes: ReceivedJWS.maximumRequestObjectBytes)
            else { throw .invalidRequest("The id_token_hint is not an ID token of this provider.") }
            user = site.carrier.users.first { user in
                token["sub"] == Subject.identifier(mccmnc: site.mccmnc, clientID: client.id, userID: user.id)
            }
        }
        guard let user else { throw OAuthError("unknown_user_id", "The hint names no user.") }
        return user
    }
}

extension CarrierSimulator.Carrier {
    /// The user of an e-mail address or a phone number.
    fileprivate func user(named hint: String) -> CarrierSimulator.User? {
        let number = hint.hasPrefix("tel:") ? String(hint.dropFirst(4)) : hint
        return users.first { $0.email.lowercased() == hint.lowercased() || $0.phoneNumber == number }
    }
}

/// The decision of a user who is asked on their phone, at a carrier, an operator or a provider.
struct BackchannelControls: Sendable {
    let simulator: CarrierSimulator

    /// Adds the routes below the endpoint of a request: `POST …/{auth_req_id}/approve` and `…/deny`.
    func add(below endpoint: String, to router: inout Router) {
        router.post(
            endpoint + "/{auth_req_id}/approve", CarrierSimulator.shared { try await decide($0) { _ in .approved } })
        // With the error code in `error`.
        router.post(
            endpoint + "/{auth_req_id}/deny",
            CarrierSimulator.shared { try await decide($0) { .failed($0["error"] ?? "access_denied") } })
    }

    /// The id `latest` names the latest request, because relying parties do not reveal the id.
    private func decide(
        _ request: Request, _ decision: (Parameters) -> CarrierSimulator.Decision
    ) async throws -> Response {
        let known = simulator.backchannelAuthenticationRequests(at: try simulator.site(of: request).mccmnc)
        let named = request.parameters["auth_req_id"] ?? ""
        guard let id = named == "latest" ? known.last : known.first(where: { $0 == named })
        else { throw OAuthError("not_found", "There is no such request.", status: .notFound) }
        let statuses = try await simulator.complete(id, decision(try Parameters(contentOf: request)))
        return .json(["notified": .array(statuses.map { .integer(Int64($0)) })])
    }
}
