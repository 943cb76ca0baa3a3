import Primitives
import Synchronization

/// The OpenID configurations of issuers that are known by name, fetched from where OpenID Connect Discovery section 4 has
/// them.
///
/// Callers that need the same one at the same time share one request, which runs on its own. One that cannot be had is
/// not asked for again for a while, so that a carrier that is down costs sign-ins at another carrier little.
final class IssuerConfigurations: Sendable {
    private struct Known: Sendable {
        let metadata: IssuerMetadata
        var freshUntil: Timestamp
        let usableUntil: Timestamp
    }

    private struct Refusal: Sendable {
        let error: OIDCError
        let until: Timestamp
    }

    private struct State {
        var known: BoundedTable<EndpointURL, Known>
        var refusals: BoundedTable<EndpointURL, Refusal>
        var requests: [EndpointURL: Task<Result<IssuerMetadata, OIDCError>, Never>] = [:]
    }

    /// How many issuers may be asked at once.
    private static let maximumRequests = 64

    private let configuration: RelyingParty.Configuration
    private let http: any HTTPClient
    private let clock: WallClock
    private let state: Mutex<State>

    init(configuration: RelyingParty.Configuration, http: any HTTPClient, clock: WallClock) {
        self.configuration = configuration
        self.http = http
        self.clock = clock
        let capacity = configuration.cache.maximumNetworks
        state = Mutex(
            State(known: BoundedTable(capacity: capacity), refusals: BoundedTable(capacity: capacity)))
    }

    /// - Parameter issuer: On a trusted host, without a query.
    func metadata(of issuer: EndpointURL) async throws(OIDCError) -> IssuerMetadata {
        switch try next(for: issuer) {
        case .known(let metadata): return metadata
        case .asked(let request): return try await request.value.get()
        }
    }

    private enum Step {
        case known(IssuerMetadata)
        case asked(Task<Result<IssuerMetadata, OIDCError>, Never>)
    }

    private func next(for issuer: EndpointURL) throws(OIDCError) -> Step {
        let now = clock.now()
        return try state.withLock { state throws(OIDCError) in
            if let known = state.known[issuer], now < known.freshUntil { return .known(known.metadata) }
            if let request = state.requests[issuer] { return .asked(request) }
            if let refusal = state.refusals[issuer], now < refusal.until { throw refusal.error }
            guard state.requests.count < Self.maximumRequests else {
                throw OIDCError(.overloaded, reason: "Too many issuers are being asked for their configuration.")
            }
            let request = Task { await self.ask(issuer) }
            state.requests[issuer] = request
            return .asked(request)
        }
    }

    private func ask(_ issuer: EndpointURL) async -> Result<IssuerMetadata, OIDCError> {
        do throws(OIDCError) {
            let response = try await send(issuer)
            return .success(try keep(response, of: issuer))
        } catch {
            return fallBack(from: error, of: issuer)
        }
    }

    private func send(_ issuer: EndpointURL) async throws(OIDCError) -> OutboundResponse {
        let url = try issuer.openIDConfiguration(configuration.urlPolicy)
        do throws(OutboundError) {
            return try await http.send(
                OutboundRequest(
                    method: .get, url: url, headers: [("Accept", "application/json")],
                    timeout: configuration.limits.discoveryTimeout,
                    maximumBodyBytes: configuration.limits.discoveryBytes))
        } catch {
            throw OIDCError(error, of: "The request for the issuer's OpenID configuration", codeMayBeSpent: true)
        }
    }

    private func keep(_ response: OutboundResponse, of issuer: EndpointURL) throws(OIDCError) -> IssuerMetadata {
        guard response.status == 200,
            let document = ProviderResponse.object(response, maximumBytes: configuration.limits.discoveryBytes)
        else {
            throw OIDCError(.unusableResponse, reason: "The issuer did not answer with its OpenID configuration.")
        }
        let requirements = ProviderMetadata.Requirements(
            urlPolicy: configuration.urlPolicy, trustedHosts: configuration.trustedHosts)
        let metadata = try IssuerMetadata(document, issuer: issuer.text, requirements: requirements)
        let rules = configuration.cache
        let fresh = clock.now().advanced(bySeconds: rules.lifetime(cacheControl: response.cacheControl))
        let known = Known(
            metadata: metadata, freshUntil: fresh, usableUntil: fresh.advanced(bySeconds: rules.staleLifetime))
        state.withLock { state in
            state.known.put(known, for: issuer)
            state.refusals.remove(issuer)
            state.requests[issuer] = nil
        }
        return metadata
    }

    /// What was known serves a while longer; otherwise the error does.
    private func fallBack(from error: OIDCError, of issuer: EndpointURL) -> Result<IssuerMetadata, OIDCError> {
        let now = clock.now()
        let rules = configuration.cache
        return state.withLock { state in
            state.requests[issuer] = nil
            if var known = state.known[issuer], now < known.usableUntil {
                known.freshUntil = now.advanced(bySeconds: rules.retryInterval)
                state.known.put(known, for: issuer)
                return .success(known.metadata)
            }
            let until = now.advanced(bySeconds: rules.unknownNetworkLifetime)
            state.refusals.put(Refusal(error: error, until: until), for: issuer)
            return .failure(error)
        }
    }
}

extension EndpointURL {
    /// Where an issuer has its OpenID configuration (OpenID Connect Discovery section 4.1).
    func openIDConfiguration(_ policy: Policy) throws(OIDCError) -> EndpointURL {
        let base = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let url = EndpointURL(base + "/.well-known/openid-configuration", policy: policy) else {
            throw OIDCError(.metadataRefused, reason: "The issuer's name is too long for a URL of its configuration.")
        }
        return url
    }
}
