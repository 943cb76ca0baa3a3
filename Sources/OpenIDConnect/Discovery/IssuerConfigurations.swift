import Primitives
import Synchronization

/// The OpenID configurations of issuers known by name (OpenID Connect Discovery section 4): the issuers of port tokens,
/// and those that networks' metadata names.
///
/// Concurrent callers for the same issuer share one request. An issuer whose request failed is not asked again for a
/// while, so that a provider that is down costs sign-ins at another provider little.
final class IssuerConfigurations: Sendable {
    /// How many issuers may be asked at once.
    private static let maximumRequests = 64

    private let access: ProviderAccess
    private let cache: Mutex<MetadataCache<IssuerMetadata>>
    private let requests = SingleFlight<MetadataQuestion, MetadataOutcome<IssuerMetadata>>()

    init(_ access: ProviderAccess) {
        self.access = access
        cache = Mutex(MetadataCache(rules: access.configuration.cache))
    }

    /// - Parameter issuer: On a trusted host, without a query.
    func metadata(of issuer: EndpointURL) async throws(OIDCError) -> IssuerMetadata {
        let now = access.clock.now()
        let question = MetadataQuestion(source: .issuer(issuer))
        return try await requests.value(
            for: question, unless: { self.answer(question, at: now, inFlight: $0) },
            { await self.ask(issuer, question) }
        ).get()
    }

    /// Requests an issuer's configuration again soon, because something newer contradicts it.
    func distrust(_ metadata: IssuerMetadata) {
        let now = access.clock.now()
        cache.withLock { $0.distrust(metadata, at: now) }
    }

    /// What answers a question without a request.
    private func answer(
        _ question: MetadataQuestion, at now: Timestamp, inFlight: Int
    ) -> MetadataOutcome<IssuerMetadata>? {
        cache.withLock { cache in
            if let metadata = cache.fresh(question.source, at: now) { return .kept(metadata) }
            if let error = cache.refusal(question, at: now) { return .failed(error) }
            guard inFlight >= Self.maximumRequests else { return nil }
            return .failed(OIDCError(.overloaded, reason: "Requests to too many issuers are under way."))
        }
    }

    private func ask(_ issuer: EndpointURL, _ question: MetadataQuestion) async -> MetadataOutcome<IssuerMetadata> {
        do throws(OIDCError) {
            let request = OutboundRequest(
                documentAt: try issuer.openIDConfiguration(access.configuration.urlPolicy),
                timeout: access.configuration.limits.discoveryTimeout,
                maximumBodyBytes: access.configuration.limits.discoveryBytes,
                destination: .init(carrier: issuer.text, step: .discovery))
            let metadata = try await access.http.send(
                request, "The request for the issuer's OpenID configuration", codeMayBeSpent: true
            ) { (response) throws(OIDCError) in try keep(response, of: issuer, for: question) }
            return .fetched(metadata)
        } catch {
            let now = access.clock.now()
            return cache.withLock {
                $0.fallBack(from: error, isLasting: true, for: question, at: now, random: access.random)
            }
        }
    }

    private func keep(
        _ response: OutboundResponse, of issuer: EndpointURL, for question: MetadataQuestion
    ) throws(OIDCError) -> IssuerMetadata {
        guard response.status == 200,
            let document = ProviderResponse.object(response, upTo: \.discoveryBytes, of: access.configuration.limits)
        else {
            throw OIDCError(
                .unusableResponse,
                reason: "The issuer's OpenID configuration, of status \(response.status), is not a JSON object.")
        }
        let metadata = try IssuerMetadata(
            document, issuer: issuer, requirements: access.configuration.metadataRequirements)
        let freshness = Freshness(
            response, at: access.clock.now(), rules: access.configuration.cache, random: access.random)
        cache.withLock { $0.keep(metadata, freshness, for: question) }
        return metadata
    }
}

extension EndpointURL {
    /// Where an issuer publishes its OpenID configuration (OpenID Connect Discovery section 4.1).
    func openIDConfiguration(_ policy: Policy) throws(OIDCError) -> EndpointURL {
        let base = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let url = EndpointURL(base + "/.well-known/openid-configuration", policy: policy) else {
            throw OIDCError(.metadataRefused, reason: "The issuer is too long for the URL of its OpenID configuration.")
        }
        return url
    }
}

/// The part of an issuer's OpenID configuration (OpenID Connect Discovery 1.0 section 3) that verifies others' words
/// about it: the signatures of its port tokens, and the metadata that networks have for it.
struct IssuerMetadata: Sendable, Hashable {
    let issuer: String
    let jwksURI: EndpointURL
    /// The host of the token endpoint, with the port if it is not the usual one; nil if there is no acceptable one.
    let tokenHost: String?
    /// The hosts of the issuer, its keys and all its acceptable endpoints.
    let hosts: Set<String>

    /// - Throws: ``OIDCError/Code/metadataRefused`` if the document names another issuer (Discovery section 4.3), or
    ///   its keys are on a host that is not trusted. Port tokens need no endpoints, so unacceptable ones are left out.
    init(
        _ document: JSONObject, issuer expected: EndpointURL, requirements: ProviderMetadata.Requirements
    ) throws(OIDCError) {
        let reader = MetadataReader(document: document, requirements: requirements)
        issuer = try reader.issuer()
        guard issuer.hasSameBytes(as: expected.text) else {
            throw OIDCError(.metadataRefused, reason: "The issuer's metadata names another issuer than the one asked.")
        }
        jwksURI = try reader.endpoint("jwks_uri")
        let token = try? reader.endpoint("token_endpoint")
        let others: [EndpointURL?] = [
            try? reader.endpoint("authorization_endpoint"), try? reader.endpoint("userinfo_endpoint"),
            try? reader.endpoint("server_initiated_authorization_endpoint"),
            try? reader.endpoint("pushed_authorization_request_endpoint"),
        ]
        tokenHost = token?.authority
        let endpoints = ([expected, jwksURI, token] + others).compactMap(\.self) + EndpointAliases(reader).endpoints
        hosts = Set(endpoints.map(\.authority))
    }
}
