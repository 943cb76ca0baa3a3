public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// The client of a Latchkey server for an app: signs the user in, refreshes the session, and sends requests with it.
///
/// ```swift
/// let latchkey = Latchkey(.init(baseURL: url, clientID: "…", apiKey: "…"), tokens: KeychainStore())
/// let session = try await latchkey.signIn(with: response)
/// let user = try await latchkey.me()
/// ```
///
/// Only this actor sends requests. Tokens are only in the ``TokenStore``.
public actor Latchkey {
    /// The server, and how the app is registered with it.
    public struct Configuration: Sendable {
        /// The server's public URL.
        public var baseURL: URL
        /// The app's `client_id` at the provider.
        public var clientID: String
        /// The API key, sent as `X-API-KEY`.
        public var apiKey: String { hiddenKey.rawValue }
        /// The name of the provider in the server's configuration.
        public var provider = "zenkey"
        /// The name of the provider of verified phone numbers.
        public var numberProvider = "number"
        /// How long an operator may take to recognise the phone over the cellular network, in seconds.
        public var cellularTimeLimit: TimeInterval = 15
        /// The origins of the app's other services, to which ``Latchkey/data(for:)`` may send the session.
        public var trustedOrigins: [URL] = []
        /// Binds the session's tokens to a key, if the server's client allows it (DPoP): they are worth nothing without
        /// it. The app keeps the key, best in the Secure Enclave.
        public var proofKey: (any ProofKey)?
        private let hiddenKey: Hidden

        /// A configuration for the provider `zenkey`.
        public init(baseURL: URL, clientID: String, apiKey: String) {
            self.baseURL = baseURL
            self.clientID = clientID
            hiddenKey = Hidden(apiKey)
        }
    }

    /// How long the server repeats its response to an identical sign-in, in seconds.
    static let retryWindow: TimeInterval = 60
    /// How long it repeats its response to an identical refresh, in seconds.
    static let refreshGrace: TimeInterval = 30
    /// A token that expires within this many seconds is refreshed before use.
    static let margin: TimeInterval = 10

    nonisolated let configuration: Configuration
    nonisolated let transport: any Transport
    nonisolated let pace: Pace
    private let store: any TokenStore
    /// How many seconds the clock of this device is slow, as far as a refused proof has shown it.
    private var clockOffset: TimeInterval = 0
    /// The present refresh, for which all callers wait.
    private var refreshing: Task<Result<Tokens, LatchkeyError>, Never>?

    /// A client of one server.
    /// - Parameters:
    ///   - tokens: Where the session is stored.
    ///   - transport: How requests are sent.
    public init(
        _ configuration: Configuration, tokens: any TokenStore = MemoryTokenStore(),
        transport: any Transport = URLSessionTransport()
    ) { self.init(configuration, tokens: tokens, transport: transport, pace: .system) }

    package init(_ configuration: Configuration, tokens: any TokenStore, transport: any Transport, pace: Pace) {
        self.configuration = configuration
        self.transport = transport
        self.pace = pace
        store = tokens
    }

    /// Sends a request with the session to Latchkey or to one of ``Configuration/trustedOrigins``.
    ///
    /// An expired token is refreshed before the request. After a 401 the token is refreshed and the request repeated
    /// once.
    /// - Returns: The last response, whatever its status.
    /// - Throws: ``LatchkeyError/Code/signedOut``, ``LatchkeyError/Code/untrustedOrigin``, or the reason why there is
    ///   no response.
    public func data(for request: URLRequest) async throws(LatchkeyError) -> (Data, HTTPURLResponse) {
        guard let url = request.url, let origin = url.origin,
            ([configuration.baseURL] + configuration.trustedOrigins).contains(where: { $0.origin == origin })
        else { throw .untrustedOrigin }
        let response = try await asUser(request)
        return (response.data, response.http)
    }

    /// Whether a session is stored on this device.
    public func isSignedIn() async throws(LatchkeyError) -> Bool { try await stored() != nil }

    /// The present token, refreshed if it has expired, for requests that the client cannot send, such as a web socket.
    public func token() async throws(LatchkeyError) -> String { try await usableTokens().token }

    /// Sends a request with the session, and once more after a refresh if the session token has expired.
    func asUser(_ request: URLRequest) async throws(LatchkeyError) -> ServerResponse {
        let tokens = try await usableTokens()
        let response = try await send(request, tokens)
        guard response.status == 401, showsExpiry(response, to: request) else { return response }
        return try await send(request, try await refresh(tokens))
    }

    /// Whether a 401 may be that of an expired token. Latchkey has `invalid_token` for that: any other code is of a
    /// request that must not be sent again, such as a confirmation that was wrong.
    private func showsExpiry(_ response: ServerResponse, to request: URLRequest) -> Bool {
        guard request.url?.origin == configuration.baseURL.origin else {
            return response.errorCode != LatchkeyError.Code.invalidAPIKey.rawValue
        }
        return response.errorCode == LatchkeyError.Code.invalidToken.rawValue
    }

    /// Stores the tokens of a sign-in.
    func keep(_ session: Session) async throws(LatchkeyError) -> Session {
        try await save(session.tokens)
        return session
    }

    /// Ends the session at the server. The stored tokens are deleted in any case.
    /// - Throws: If the request failed. The session then remains at the server until it expires.
    public func signOut() async throws(LatchkeyError) {
        guard try await stored() != nil else { return }
        var failure: LatchkeyError?
        do throws(LatchkeyError) {
            _ = try await asUser(request("DELETE", "/auth/token")).checked(now: pace.now())
        } catch {
            if !error.isSignedOut, error.code != .invalidToken { failure = error }
        }
        try await save(nil)
        if let failure { throw failure }
    }

    /// Erases the user's account and its data.
    public func eraseAccount() async throws(LatchkeyError) {
        _ = try await asUser(request("DELETE", "/users/me")).checked(now: pace.now())
        try await save(nil)
    }
}

/// The session.
extension Latchkey {
    private func usableTokens() async throws(LatchkeyError) -> Tokens {
        guard let tokens = try await stored() else { throw .notSignedIn }
        guard tokens.expiresAt.timeIntervalSince(pace.now()) < Self.margin else { return tokens }
        return try await refresh(tokens)
    }

    /// Replaces expired tokens. There is one exchange at a time, and all callers get its result.
    private func refresh(_ ended: Tokens) async throws(LatchkeyError) -> Tokens {
        let task = refreshing ?? Task { await self.exchange(ended) }
        refreshing = task
        switch await task.value {
        case .success(let tokens): return tokens
        case .failure(let error): throw error
        }
    }

    private func exchange(_ ended: Tokens) async -> Result<Tokens, LatchkeyError> {
        defer { refreshing = nil }
        do throws(LatchkeyError) {
            guard let current = try await stored() else { throw .notSignedIn }
            // An earlier exchange, or an app extension that shares the store, has refreshed them already.
            guard current == ended else { return .success(current) }
            let request = request(
                "POST", "/auth/token", ["grant_type": "refresh_token", "refresh_token": ended.refreshToken])
            let response = try await sendAgainIfLost(request, within: Self.refreshGrace)
            // A sign-out, sign-in or refresh during the exchange takes precedence.
            let latest = try await stored()
            guard latest == ended else { return latest.map { .success($0) } ?? .failure(.notSignedIn) }
            if response.status == 401, response.errorCode == LatchkeyError.Code.invalidGrant.rawValue {
                try await save(nil)
            }
            let tokens = try response.checked(now: pace.now()).decoded(TokenResponse.self).session(now: pace.now())
                .tokens
            try await save(tokens)
            return .success(tokens)
        } catch {
            let isOver = error.status == 401 && error.code == .invalidGrant
            return .failure(isOver ? error.asSignedOut : error)
        }
    }

    private func stored() async throws(LatchkeyError) -> Tokens? {
        do { return try await store.load() } catch { throw .store(error) }
    }

    private func save(_ tokens: Tokens?) async throws(LatchkeyError) {
        do { try await store.save(tokens) } catch { throw .store(error) }
    }
}

/// Requests.
extension Latchkey {
    nonisolated func url(_ path: String, _ query: [(name: String, value: String?)] = []) -> URL {
        let base = configuration.baseURL.absoluteString
        let text =
            (base.hasSuffix("/") ? String(base.dropLast()) : base) + path
            + (query.isEmpty ? "" : "?" + QueryText.encoded(query))
        // The path and the query are percent-encoded.
        return URL(string: text) ?? configuration.baseURL
    }

    /// - Parameter fields: The members of the JSON body; nil values become null.
    nonisolated func request(_ method: String, _ path: String, _ fields: [String: String?]? = nil) -> URLRequest {
        var request = URLRequest(url: url(path))
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let fields {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try? JSONEncoder().encode(fields)
        }
        return request
    }

    /// - Parameter json: The body.
    nonisolated func request(_ method: String, _ path: String, json: String) -> URLRequest {
        var request = request(method, path)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(json.utf8)
        return request
    }

    /// Sends a request, and again with another time in its proof if the clock of this device was wrong.
    nonisolated func send(_ request: URLRequest, _ tokens: Tokens? = nil) async throws(LatchkeyError) -> ServerResponse
    {
        let response = try await sendOnce(request, tokens)
        guard configuration.proofKey != nil, response.errorCode == LatchkeyError.Code.invalidKeyProof.rawValue,
            let time = response.time, await hasNewTime(time)
        else { return response }
        return try await sendOnce(request, tokens)
    }

    /// Takes the server's time over. False if that changes little.
    private func hasNewTime(_ time: Date) -> Bool {
        let new = time.timeIntervalSince(pace.now())
        guard abs(new - clockOffset) > 60 else { return false }
        clockOffset = new
        return true
    }

    private func proof(of request: URLRequest, _ tokens: Tokens?) throws(LatchkeyError) -> String? {
        guard let key = configuration.proofKey, let url = request.url else { return nil }
        do {
            return try key.proof(
                request.httpMethod ?? "GET", url, token: tokens?.token, at: pace.now().addingTimeInterval(clockOffset))
        } catch {
            throw .store(error)
        }
    }

    private nonisolated func sendOnce(
        _ request: URLRequest, _ tokens: Tokens?
    ) async throws(LatchkeyError) -> ServerResponse {
        var request = request
        if request.url?.origin == configuration.baseURL.origin {
            request.setValue(configuration.apiKey, forHTTPHeaderField: "X-API-KEY")
        }
        if let tokens {
            let scheme = configuration.proofKey != nil && tokens.areBound ? "DPoP " : "Bearer "
            request.setValue(scheme + tokens.token, forHTTPHeaderField: "Authorization")
        }
        if let proof = try await proof(of: request, tokens) { request.setValue(proof, forHTTPHeaderField: "DPoP") }
        do {
            let (data, http) = try await transport.send(request)
            return ServerResponse(data: data, http: http)
        } catch {
            throw .noResponse(error)
        }
    }

    /// Repeats an identical request until there is a response, as long as the server treats it as the same one: the
    /// server may have received the first request although its response was lost.
    nonisolated func sendAgainIfLost(
        _ request: URLRequest, within window: TimeInterval
    ) async throws(LatchkeyError) -> ServerResponse {
        let start = pace.now()
        var delay: TimeInterval = 1
        while true {
            do throws(LatchkeyError) {
                return try await send(request)
            } catch {
                // The last five seconds are for the transfer.
                let isLate = pace.now().timeIntervalSince(start) + delay > window - 5
                guard error.code == .networkFailure, !isLate else { throw error }
            }
            do { try await pace.sleep(delay) } catch { throw .wasCancelled }
            delay = min(2 * delay, 8)
        }
    }
}

extension URL {
    /// Scheme, host and port (RFC 6454 section 4); nil for a URL without a host.
    fileprivate var origin: [String]? {
        guard let scheme = scheme?.lowercased(), let host = host?.lowercased() else { return nil }
        return [scheme, host, String(port ?? (scheme == "https" ? 443 : 80))]
    }
}
