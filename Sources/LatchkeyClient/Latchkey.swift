public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// An app's side of Latchkey: signs its user in, keeps the session alive, and asks in the user's name.
///
/// ```swift
/// let latchkey = Latchkey(.init(baseURL: url, clientID: "…", apiKey: "…"), tokens: KeychainStore())
/// let session = try await latchkey.signIn(with: response)
/// let user = try await latchkey.me()
/// ```
///
/// Only this and its extensions send anything; tokens are in the ``TokenStore`` and nowhere else.
public actor Latchkey {
    public struct Configuration: Sendable {
        /// The server's public URL.
        public var baseURL: URL
        /// The app, as it is registered with the provider.
        public var clientID: String
        /// What `X-API-KEY` is to say.
        public var apiKey: String { hiddenKey.text }
        /// The name of the provider in the server's configuration.
        public var provider = "zenkey"
        /// Where ``Latchkey/data(for:)`` may carry the session besides ``baseURL``: other services of the app's.
        public var trustedOrigins: [URL] = []
        private let hiddenKey: Hidden

        public init(baseURL: URL, clientID: String, apiKey: String) {
            self.baseURL = baseURL
            self.clientID = clientID
            hiddenKey = Hidden(apiKey)
        }
    }

    /// How long the server answers the very same sign-in again, in seconds.
    static let retryWindow: TimeInterval = 60
    /// How long it does so with a refresh.
    static let refreshGrace: TimeInterval = 30
    /// A token with less time left is refreshed before it is used.
    static let margin: TimeInterval = 10

    nonisolated let configuration: Configuration
    nonisolated let transport: any Transport
    nonisolated let pace: Pace
    private let store: any TokenStore
    /// The refresh under way, which all wait for.
    private var refreshing: Task<Result<Tokens, LatchkeyError>, Never>?

    public init(
        _ configuration: Configuration, tokens: any TokenStore = MemoryTokenStore(),
        transport: any Transport = URLSessionTransport()
    ) {
        self.init(configuration, tokens: tokens, transport: transport, pace: .system)
    }

    package init(
        _ configuration: Configuration, tokens: any TokenStore, transport: any Transport, pace: Pace
    ) {
        self.configuration = configuration
        self.transport = transport
        self.pace = pace
        store = tokens
    }

    /// Sends a request with the session, as `URLSession` would without: to Latchkey, or to one of
    /// ``Configuration/trustedOrigins``.
    ///
    /// A token that has ended is refreshed, before or, at a 401, once after; the answer is then that of the second try.
    /// - Throws: ``LatchkeyError/Code/signedOut``, ``LatchkeyError/Code/untrustedOrigin``, or why there was no answer.
    public func data(for request: URLRequest) async throws(LatchkeyError) -> (Data, HTTPURLResponse) {
        guard let url = request.url, let origin = url.origin,
            ([configuration.baseURL] + configuration.trustedOrigins).contains(where: { $0.origin == origin })
        else { throw .noFurtherOrigin }
        let answer = try await asUser(request)
        return (answer.data, answer.response)
    }

    /// Whether somebody is signed in, as far as this device knows.
    public func isSignedIn() async throws(LatchkeyError) -> Bool { try await stored() != nil }

    /// The present token, refreshed if it has ended: for what makes its requests itself, such as a web socket.
    public func token() async throws(LatchkeyError) -> String { try await usableTokens().token }

    /// Sends a request with the session.
    func asUser(_ request: URLRequest) async throws(LatchkeyError) -> Answer {
        let tokens = try await usableTokens()
        let answer = try await send(request, tokens)
        guard answer.status == 401, answer.errorCode != LatchkeyError.Code.invalidAPIKey.rawValue else { return answer }
        return try await send(request, try await refresh(tokens))
    }

    /// Keeps the tokens of a sign-in.
    func keep(_ session: Session) async throws(LatchkeyError) -> Session {
        try await save(session.tokens)
        return session
    }

    /// Ends the session at the server, and forgets it in any case.
    /// - Throws: If the server could not be told: then the session lasts there until it ends by itself.
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

    /// Erases the account with all that belongs to it.
    public func eraseAccount() async throws(LatchkeyError) {
        _ = try await asUser(request("DELETE", "/users/me")).checked(now: pace.now())
        try await save(nil)
    }
}

// The session.
extension Latchkey {
    private func usableTokens() async throws(LatchkeyError) -> Tokens {
        guard let tokens = try await stored() else { throw .nobodySignedIn }
        guard tokens.expiresAt.timeIntervalSince(pace.now()) < Self.margin else { return tokens }
        return try await refresh(tokens)
    }

    /// Tokens in the place of those that have ended. There is one exchange at a time, and all get what comes of it.
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
            guard let current = try await stored() else { throw .nobodySignedIn }
            // Somebody was faster: an earlier exchange, or an extension of the app that shares the store.
            guard current == ended else { return .success(current) }
            let request = request(
                "POST", "/auth/token", ["grant_type": "refresh_token", "refresh_token": ended.refreshToken])
            let answer = try await sendAgainIfLost(request, within: Self.refreshGrace)
            // Whoever signed out, signed in or refreshed meanwhile has the last word.
            let latest = try await stored()
            guard latest == ended else { return latest.map { .success($0) } ?? .failure(.nobodySignedIn) }
            if answer.status == 401, answer.errorCode == LatchkeyError.Code.invalidGrant.rawValue {
                try await save(nil)
            }
            let tokens = try answer.checked(now: pace.now()).decoded(TokenResponse.self).session(now: pace.now()).tokens
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

// Requests.
extension Latchkey {
    nonisolated func url(_ path: String, _ query: [(name: String, value: String?)] = []) -> URL {
        let base = configuration.baseURL.absoluteString
        let text =
            (base.hasSuffix("/") ? String(base.dropLast()) : base) + path
            + (query.isEmpty ? "" : "?" + QueryText.encoded(query))
        // What is appended is percent-encoded.
        return URL(string: text) ?? configuration.baseURL
    }

    /// - Parameter fields: For a JSON body; nil stands for null.
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

    nonisolated func send(_ request: URLRequest, _ tokens: Tokens? = nil) async throws(LatchkeyError) -> Answer {
        var request = request
        if request.url?.origin == configuration.baseURL.origin {
            request.setValue(configuration.apiKey, forHTTPHeaderField: "X-API-KEY")
        }
        if let tokens { request.setValue("Bearer " + tokens.token, forHTTPHeaderField: "Authorization") }
        do {
            let (data, response) = try await transport.send(request)
            return Answer(data: data, response: response)
        } catch {
            throw .noResponse(error)
        }
    }

    /// Sends the very same request again while there is no answer, as long as the server takes it for the same: the first
    /// may have arrived, and its answer not.
    nonisolated func sendAgainIfLost(
        _ request: URLRequest, within window: TimeInterval
    ) async throws(LatchkeyError) -> Answer {
        let start = pace.now()
        var delay: TimeInterval = 1
        while true {
            do throws(LatchkeyError) {
                return try await send(request)
            } catch {
                // A few seconds are left for the way.
                let isLate = pace.now().timeIntervalSince(start) + delay > window - 5
                guard error.code == .networkFailure, !isLate else { throw error }
            }
            do { try await pace.sleep(delay) } catch { throw .wasCancelled }
            delay = min(2 * delay, 8)
        }
    }
}

extension URL {
    /// Scheme, host and port, by which two places are one; nil for a URL without a host.
    fileprivate var origin: [String]? {
        guard let scheme = scheme?.lowercased(), let host = host?.lowercased() else { return nil }
        return [scheme, host, String(port ?? (scheme == "https" ? 443 : 80))]
    }
}
