import OpenIDConnect
import Primitives
import Synchronization
import TestSupport
import Testing

/// A carrier behind a scripted client: each test sets discovery, keys, token endpoint and userinfo.
final class FakeCarrier: Sendable {
    struct Answers: Sendable {
        /// Of every network, and of every issuer that is asked itself.
        var discovery: OutboundResponse = .json(FakeCarrier.metadata.text, cacheControl: "max-age=864000")
        /// Of a network, in place of ``discovery``.
        var networks: [String: OutboundResponse] = [:]
        /// What an issuer says itself, in place of ``discovery``.
        var configurations: [String: OutboundResponse] = [:]
        var keys: OutboundResponse = .json(TestKey.keySet(.rsa1))
        var token: OutboundResponse = .json(FakeCarrier.tokens.text)
        var pushedAuthorization: OutboundResponse = .json(
            #"{"request_uri":"urn:ietf:params:oauth:request_uri:r-1","expires_in":60}"#, status: 201)
        var backchannelAuthentication: OutboundResponse = .json("{}")
        var userInfo: OutboundResponse = .json(#"{"sub":"310999-subject"}"#)
        /// Fails the requests to URLs with these prefixes.
        var failures: [String: OutboundError] = [:]
        /// Holds the requests to URLs with these prefixes.
        var gates: [String: Gate] = [:]
    }

    static let discoveryURL = "https://discovery.myzenkey.com/.well-known/openid_configuration"
    static let keysURL = TokenDraft.issuer + "/jwks"
    static let tokenURL = TokenDraft.issuer + "/token"
    static let userInfoURL = TokenDraft.issuer + "/userinfo"

    static let backchannelURL = TokenDraft.issuer + "/bc-authorize"
    static let pushURL = TokenDraft.issuer + "/par"

    static let metadata: JSONDraft = [
        ("issuer", "\"\(TokenDraft.issuer)\""), ("authorization_endpoint", "\"\(TokenDraft.issuer)/authorize\""),
        ("token_endpoint", "\"\(tokenURL)\""), ("userinfo_endpoint", "\"\(userInfoURL)\""),
        ("jwks_uri", "\"\(keysURL)\""),
        ("mccmnc", "310999"), ("response_types_supported", "[\"code\",\"async_token\"]"),
        ("id_token_signing_alg_values_supported", "[\"RS256\",\"ES256\"]"),
        ("token_endpoint_auth_methods_supported", "[\"client_secret_basic\",\"private_key_jwt\"]"),
        ("grant_types_supported", "\"authorization_code\""), ("acr_values_supported", "[\"a1\",\"a3\"]"),
    ]

    static let tokens: JSONDraft = [
        ("access_token", "\"access-1\""), ("token_type", "\"Bearer\""), ("refresh_token", "\"refresh-1\""),
        ("expires_in", "3600"), ("correlation_id", "\"x\""), ("id_token", "\"h.p.s\""), ("scope", "\"openid\""),
    ]

    let clock = ManualClock(secondsSinceEpoch: TokenDraft.now)
    let http: ScriptedHTTPClient
    private let answers: Mutex<Answers>

    init(_ change: (inout Answers) -> Void = { _ in }) {
        var initial = Answers()
        change(&initial)
        answers = Mutex(initial)
        http = ScriptedHTTPClient { _ throws(OutboundError) in
            throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "not set up")
        }
        http.answer { [weak self] request throws(OutboundError) in
            guard let self else { throw OutboundError(.shutDown, mayHaveBeenSent: false, reason: "gone") }
            return try await answer(request)
        }
    }

    func change(_ change: (inout Answers) -> Void) {
        answers.withLock { change(&$0) }
    }

    /// - Parameter bindings: Kept bindings of issuers; nil for those of a new store in memory.
    func relyingParty(
        random: RandomSource = .system, bindings: (any IssuerBindings)? = nil, uptime: Uptime = .system,
        observer: RelyingPartyObserver = .init(), _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
    ) throws -> RelyingParty {
        let url = try #require(EndpointURL(Self.discoveryURL, policy: .httpsOnly))
        var configuration = RelyingParty.Configuration(discoveryURL: url)
        configuration.trustedHosts = TrustedHosts(["*.carrier.example"].compactMap(TrustedHosts.Pattern.init))
        change(&configuration)
        return RelyingParty(
            configuration: configuration, http: http, bindings: bindings ?? MemoryIssuerBindings(),
            clock: clock.wallClock, uptime: uptime, random: random, observer: observer)
    }

    /// A relying party of one issuer, which the metadata must name.
    func relyingParty(
        ofIssuer issuer: String, _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
    ) throws -> RelyingParty {
        let url = try #require(EndpointURL(issuer, policy: .httpsOnly))
        var configuration = RelyingParty.Configuration(issuer: url)
        change(&configuration)
        return RelyingParty(configuration: configuration, http: http, clock: clock.wallClock)
    }

    private func answer(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let url = request.url.text
        let gate = answers.withLock { $0.gates.first { url.hasPrefix($0.key) }?.value }
        await gate?.pass()
        let answers = answers.withLock { $0 }
        if let failure = answers.failures.first(where: { url.hasPrefix($0.key) })?.value { throw failure }
        if url.hasPrefix(Self.discoveryURL) {
            return answers.networks.first { url.contains("mccmnc=\($0.key)") }?.value ?? answers.discovery
        }
        let suffix = "/.well-known/openid-configuration"
        if url.hasSuffix(suffix) {
            return answers.configurations[String(url.dropLast(suffix.count))] ?? answers.discovery
        }
        if url.hasPrefix(Self.keysURL) { return answers.keys }
        if url.hasPrefix(Self.tokenURL) { return answers.token }
        if url.hasPrefix(Self.pushURL) { return answers.pushedAuthorization }
        if url.hasPrefix(TokenDraft.issuer + "/async") || url.hasPrefix(Self.backchannelURL) {
            return answers.backchannelAuthentication
        }
        if url.hasPrefix(Self.userInfoURL) { return answers.userInfo }
        return OutboundResponse(status: 404)
    }
}

/// The network, client and correlation id of a test's sign-in.
struct SignInSubjects {
    let network: MCCMNC
    let clientID: ClientID
    let correlationID: CorrelationID

    init(network: String = "310999", clientID: String = "client-1", correlationID: String = "corr-1") throws {
        self.network = try #require(MCCMNC(network))
        self.clientID = try #require(ClientID(clientID))
        self.correlationID = try #require(CorrelationID(correlationID))
    }
}

extension RelyingParty {
    /// Runs discovery for the usual subjects.
    func provider(_ subjects: SignInSubjects) async throws(OIDCError) -> ProviderMetadata {
        try await provider(for: subjects.network, clientID: subjects.clientID, correlationID: subjects.correlationID)
    }
}

/// The error of a step, or nil if it succeeds.
func failure<Value>(_ step: () async throws(OIDCError) -> Value) async -> OIDCError? {
    do throws(OIDCError) {
        _ = try await step()
        return nil
    } catch {
        return error
    }
}
