public import Primitives

/// Where a browser goes to sign in.
public struct AuthorizationDestination: Sendable, Hashable {
    /// The authorization endpoint, with the request or with the name of the pushed request.
    public let url: EndpointURL
    /// Seconds until the pushed request expires; nil if the request was not pushed.
    public let expiresIn: Int64?
}

extension RelyingParty {
    /// Says where to send the browser with an authorization request. If the provider requires it, or the configuration
    /// says so, the request is signed (RFC 9101). Likewise it is pushed first, once (RFC 9126): then the browser gets
    /// no parameter of the request, and there is no destination without the provider's consent.
    ///
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code;
    ///   ``OIDCError/Code/clientRefused`` without one if the provider's metadata does not list the client's
    ///   authentication method, or if the request cannot be signed, and nothing was sent;
    ///   ``OIDCError/Code/metadataRefused`` if the provider has no endpoint for browsers or for pushed requests;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code.
    public func destination(
        of request: AuthorizationRequest, client: ClientCredentials, signedWith key: ClientKey? = nil,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> AuthorizationDestination {
        let browsersGoTo = try demand(of: provider, for: provider.tokenEndpoint) { () throws(OIDCError) in
            guard let endpoint = provider.authorizationEndpoint else {
                throw OIDCError(
                    .metadataRefused,
                    reason: "The provider has no authorization_endpoint, so that no browser can sign in there.")
            }
            return endpoint
        }
        try check(client, at: provider, for: browsersGoTo)
        guard configuration.extensions.pushedAuthorizationRequests.applies(ifDemanded: provider.demands.pushedRequests)
        else {
            guard let requestObject = try requestObject(of: request, signedWith: key, provider, browsersGoTo) else {
                let dialect = configuration.dialect
                var url = browsersGoTo.appending(query: dialect.spelled(request.items))
                if let fragment = dialect.fragment { url = url.appending(fragment: fragment) }
                return AuthorizationDestination(url: url, expiresIn: nil)
            }
            return AuthorizationDestination(
                url: request.url(at: browsersGoTo, signedAs: requestObject), expiresIn: RequestObject.lifetime)
        }
        let clientTLS = clientTLS(of: client, at: provider)
        let endpoint = try demand(of: provider, for: browsersGoTo) { () throws(OIDCError) in
            let endpoint = try provider.endpointForPushedRequests(presenting: clientTLS)
            try provider.check(client.authentication)
            return endpoint
        }
        let response = try await send(
            "The pushed authorization request", provingPossessionOf: request.dpopKey, at: provider,
            codeMayBeSpent: false
        ) { () throws(OIDCError) in
            // A pushed request object is alone, but for the client (RFC 9126 section 3). The id of each is new.
            let requestObject = try requestObject(of: request, signedWith: key, provider, browsersGoTo)
            let items = requestObject.map { [("client_id", request.clientID.text), ("request", $0.exposed)] }
            return try self.request(
                items ?? request.items, authenticating: client, to: endpoint, presenting: clientTLS,
                .pushedAuthorization, of: provider, correlationID)
        } read: { (response) throws(OIDCError) in
            try client.explaining(try PushedAuthorizationResponse(response, limits: configuration.limits))
        }
        return AuthorizationDestination(
            url: request.url(at: browsersGoTo, pushedAs: response.requestURI),
            expiresIn: signsRequests(to: provider)
                ? min(response.expiresIn, RequestObject.lifetime) : response.expiresIn)
    }

    private func signsRequests(to provider: ProviderMetadata) -> Bool {
        configuration.extensions.signedRequestObjects.applies(ifDemanded: provider.demands.signedRequestObjects)
    }

    /// The signed request; nil if requests to the provider are not signed.
    private func requestObject(
        of request: AuthorizationRequest, signedWith key: ClientKey?, _ provider: ProviderMetadata,
        _ endpoint: EndpointURL
    ) throws(OIDCError) -> Secret? {
        guard signsRequests(to: provider) else { return nil }
        return try demand(of: provider, for: endpoint) { () throws(OIDCError) in
            try RequestObject.make(
                of: request.items, for: request.clientID, signedWith: try provider.check(requestObjectKey: key),
                at: provider, id: random.token(bytes: 16), now: clock.now())
        }
    }
}
