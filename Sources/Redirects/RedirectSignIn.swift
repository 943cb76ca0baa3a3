import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Signs a user in whose browser is sent to the provider and back: for web frontends, secondary devices, and apps that
/// use a browser session.
///
/// `state`, `nonce` and the code verifier are made and kept here. Each `state` is good once, for ``lifetime``.
struct RedirectSignIn: Sendable {
    let api: LatchkeyAPI
    let feature: RedirectsFeature

    var useCases: UseCases { api.useCases }
    var environment: Environment { useCases.environment }
    var oneTimeStore: EncryptedOneTimeStore { useCases.oneTimeStore }
    var pendingStarts: OneTimeRecordQuota { feature.pendingStarts }
    var lifetime: Int64 { feature.lifetime }
    /// Nil if no feature has one.
    var errand: SessionErrand? { api.sessionErrand }

    static func hash(_ browser: Secret) -> String {
        Base64URL.encode(TokenHash(sha256Of: browser.exposed).bytes)
    }
}

/// The end of a redirect sign-in, for the frontend at the start's `redirectURI`.
struct RedirectEnd: Sendable {
    enum Result: Sendable {
        /// The browser gets the session in cookies.
        case signedIn(SignedIn)
        /// The frontend exchanges this `session_id` for the session, once. It is the session token if the start
        /// demanded that (``RedirectStart/sessionIDIsSession``) and had no `code_challenge`.
        case handedOver(sessionID: Secret)
        /// The errand of a session has ended well: what a popup's last page says.
        case errandDone(String)
        case mustRegister(RegistrationOffer)
        /// A group has ended its task, and the frontend gets these query parameters.
        case taskEnded([(name: String, value: String)])
        case failed(SignInError)
    }

    let start: RedirectStart
    let correlationID: CorrelationID
    /// What the browser was sent away for.
    let purpose: [(name: String, value: String)]
    let result: Result

    /// The query parameters for the frontend (docs/web-frontends.md).
    var items: [(name: String, value: String)] {
        switch result {
        case .signedIn, .errandDone: success
        case .handedOver(let sessionID): success + [("session_id", sessionID.exposed)]
        case .mustRegister(let offer):
            [
                ("action", "register"), ("status", "partial"), ("state_key", offer.handle.exposed),
                ("identifier", offer.profile[.email] ?? ""),
            ]
        case .taskEnded(let parameters): purpose + parameters
        case .failed(let error):
            purpose + [
                ("status", "failure"), ("message", error.userMessage),
                ("error", error.codeText), ("error_description", error.description),
                ("correlation_id", correlationID.text),
            ]
        }
    }

    private var success: [(name: String, value: String)] {
        purpose + [("status", "success"), ("tracking_id", start.trackingID ?? correlationID.text)]
    }

    var location: String { AppRedirectURI.appending(items, to: start.redirectURI) }

    /// Where the browser goes once a user who must register has done so; nil unless the sign-in ended at a page of this
    /// server's own origin, in the browser that began it.
    func locationAfterRegistration(at ownOrigin: String?) -> String? {
        guard start.clientType == .web || start.clientType == .popup, let origin, origin == ownOrigin else {
            return nil
        }
        return AppRedirectURI.appending(success, to: start.redirectURI)
    }

    /// The origin of that URI, the only one that a popup tells; nil for an app's own scheme.
    var origin: String? { AppRedirectURI.origin(of: start.redirectURI) }
}

enum RedirectStep: Sendable {
    /// To the choice of a carrier, or to the provider, within so many seconds. `browser` is for a cookie that must come
    /// back with the response.
    case goOn(to: String, withinSeconds: Int64, browser: Secret?)
    case finished(RedirectEnd)
}

extension RedirectSignIn {
    /// Begins: says where to send the browser.
    /// - Parameters:
    ///   - browser: The value of the browser's cookie, if it has one, so that several tabs share it.
    ///   - isBrowser: Whether a browser begins, which gets the cookie also where another one may come back: with it, a
    ///     second response gets the same end.
    /// - Throws: What is wrong with the request, if no redirect can tell the frontend.
    func start(
        _ request: RedirectStart, browser: Secret?, isBrowser: Bool = false
    ) async throws(SignInError) -> RedirectStep {
        let correlationID = request.correlationID ?? .random(from: environment.random)
        return try await environment.failures.recording(as: correlationID, request.sentNames) {
            () async throws(SignInError) in
            try await begin(request, correlationID, browser, isBrowser)
        } failed: { error in
            environment.logStart(error, at: request.provider.text, correlationID)
            return nil
        }
    }

    private func begin(
        _ request: RedirectStart, _ correlationID: CorrelationID, _ browser: Secret?, _ isBrowser: Bool
    ) async throws(SignInError) -> RedirectStep {
        var request = request
        let target = try await target(of: &request, correlationID)
        let client = try client(of: target, for: request)
        let isBound = request.clientType.isBoundToBrowser || target.server.dependsOnState
        let browser = isBound || isBrowser ? browser ?? Secret(environment.random.token()) : nil
        var pending = PendingRedirect(
            start: request, clientID: client.id, correlationID: correlationID,
            browserHash: isBound ? browser.map(Self.hash) : nil)
        pending.start.demand.scopes = scopes(of: request, client, target)
        pending.start.demand = target.completed(pending.start.demand, of: client.id)
        if pending.start.demand.prompt.contains(.login) { pending.start.demand.since = environment.clock.now() }
        pending.subnet = request.caller.subnet
        guard let carriers = target.provider.carriers else {
            return try await sendToProvider(pending, target, at: nil, loginHintToken: nil, browser)
        }
        if let network = request.network {
            return try await sendToProvider(pending, target, at: network, loginHintToken: nil, browser)
        }
        if let url = carriers.authorizationURL { return try await sendToAnyCarrier(pending, target, at: url, browser) }
        return try await sendToCarrierChoice(pending, at: carriers.discoveryUI, browser)
    }

    /// Whom a start is with. A start at a group becomes what the chosen server is asked for.
    private func target(
        of request: inout RedirectStart, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignInTarget {
        let provider = try environment.providers.find(request.provider.provider)
        if let group = provider.group {
            let target = try await group.choose(for: &request, correlationID, in: environment)
            request.provider = target.reference
            return target
        }
        try request.caller.check(mayUseOneOf: provider.allClients)
        return try environment.providers.find(request.provider)
    }

    /// The client that a start is for, if the start is valid.
    private func client(
        of target: SignInTarget, for request: RedirectStart
    ) throws(SignInError) -> SignInConfiguration.Client {
        guard let client = target.server.client(request.clientID) else {
            throw request.clientID == nil ? .clientNotNamed : .unknownClient
        }
        try request.caller.check(client)
        guard client.mayReceiveBrowsers(at: request.redirectURI) else {
            throw .redirectURINotRegistered(request.redirectURI, among: client.rules.redirectURIs)
        }
        guard target.hasIDTokens || !request.demand.needsIDToken else { throw .nothingConfirms }
        guard request.clientType != .popup || AppRedirectURI.origin(of: request.redirectURI) != nil else {
            throw .popupNeedsOrigin
        }
        guard client.allows(request.clientType, at: request.redirectURI) else { throw .clientTypeNotAllowed }
        // A success has a `session_id` then.
        let mustHaveChallenge =
            client.rules.requiresCodeChallenge && request.clientType != .web && request.purpose == .signIn
        guard request.codeChallenge != nil || !mustHaveChallenge && request.clientType != .spa else {
            throw .codeChallengeMissing
        }
        return client
    }

    private func scopes(
        of request: RedirectStart, _ client: SignInConfiguration.Client, _ target: SignInTarget
    ) -> [String] {
        let scopes = request.demand.scopes.isEmpty ? client.rules.scopes : request.demand.scopes
        guard target.hasIDTokens else { return scopes }
        return scopes.contains("openid") ? scopes : ["openid"] + scopes
    }

    /// Begins a task of a group: any browser may be sent to the group's server, and may come back.
    /// - Parameter start: What the server is asked for, with a redirect URI that is registered for the client.
    /// - Returns: Where to send a browser, within so many seconds.
    /// - Throws: Why no browser can be sent.
    func begin(
        task id: Secret, _ start: RedirectStart, at target: SignInTarget, for client: SignInConfiguration.Client,
        _ correlationID: CorrelationID
    ) async throws(SignInError) -> (url: String, withinSeconds: Int64) {
        var pending = PendingRedirect(
            start: start, clientID: client.id, correlationID: correlationID, browserHash: nil)
        pending.start.purpose = .task(id: id)
        pending.subnet = start.caller.subnet
        switch try await sendToProvider(pending, target, at: nil, loginHintToken: nil, nil) {
        case .goOn(let url, let seconds, _): return (url, seconds)
        case .finished(let end):
            guard case .failed(let error) = end.result else { throw .internalFault }
            throw error
        }
    }
}

extension RedirectSignIn {
    /// The start that a third party initiates: for the configured client, by a page whose session is in a cookie.
    ///
    /// Anybody can write such a request. So it decides nothing but whether the sign-in begins, which of the client's
    /// own redirect URIs it ends at, and the hint that the provider gets.
    /// - Parameters:
    ///   - namedIssuer: The issuer that the user shall sign in with (`iss`).
    ///   - targetLinkURI: Where the browser shall arrive; nil for the client's first redirect URI for pages.
    ///   - callbackURL: This server's redirect URI at the provider.
    /// - Throws: What is wrong with the request: sign-ins are not initiated at this provider, its issuer is another
    ///   one, or the client has no such redirect URI for pages.
    func start(
        initiatedAt provider: String, by namedIssuer: String, loginHint: String?, to targetLinkURI: String?,
        callbackURL: String
    ) throws(SignInError) -> RedirectStart {
        let target = try environment.providers.find(withoutOperators: provider)
        guard let clientID = target.provider.openID?.loginInitiationClient,
            let issuer = target.relyingParty.issuer?.text,
            let client = target.server.clients[clientID]
        else { throw .loginNotInitiated }
        guard target.relyingParty.isIssuer(namedIssuer, of: issuer) else { throw .initiatedForAnotherIssuer }
        let redirectURI = targetLinkURI ?? client.rules.redirectURIs.first { client.allows(.web, at: $0) }
        guard let redirectURI, client.mayReceiveBrowsers(at: redirectURI), client.allows(.web, at: redirectURI) else {
            throw .targetNotRegistered
        }
        var start = RedirectStart(
            provider: target.reference, clientType: .web, redirectURI: redirectURI, callbackURL: callbackURL)
        start.clientID = client.id
        start.demand.loginHint = loginHint
        return start
    }
}
