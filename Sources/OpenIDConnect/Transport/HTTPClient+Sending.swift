import Primitives

extension HTTPClient {
    /// Sends a request and reads its response. A failure of the transport becomes a protocol step's, and every
    /// error names the request.
    /// - Parameters:
    ///   - what: Names the request in the error.
    ///   - codeMayBeSpent: Whether the authorization code may be used up after a failure of the transport; nil if it
    ///     may be where the request may have been sent.
    func send<Value>(
        _ request: OutboundRequest, _ what: StaticString, codeMayBeSpent: Bool?,
        read: (OutboundResponse) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await send(request)
        } catch {
            throw OIDCError(error, of: what, codeMayBeSpent: codeMayBeSpent ?? error.mayHaveBeenSent)
                .at(.init(to: request.url, transportError: error.fault))
        }
        do throws(OIDCError) {
            return try read(response)
        } catch {
            throw error.at(.init(to: request.url, status: response.status))
        }
    }
}

extension OutboundRequest {
    /// A request for a JSON document that needs no authentication.
    init(
        documentAt url: EndpointURL, timeout: Duration, maximumBodyBytes: Int, destination: Destination? = nil,
        correlationID: CorrelationID? = nil
    ) {
        self.init(
            method: .get, url: url, headers: [("Accept", "application/json")], timeout: timeout,
            maximumBodyBytes: maximumBodyBytes, destination: destination, correlationID: correlationID)
    }
}

extension OIDCError {
    /// What a transport failure means for the step that sent the request.
    init(_ error: OutboundError, of what: StaticString, codeMayBeSpent: Bool) {
        let (code, fault): (Code, StaticString) =
            switch error.code {
            case .timedOut: (.timedOut, "got no response in time")
            case .unreachable: (.unreachable, "reached no server")
            case .addressRefused: (.unreachable, "was not sent: the address policy does not allow the host's address")
            case .tls: (.unreachable, "reached no server with a valid certificate")
            case .closed: (.unreachable, "got no response before the connection was closed")
            case .malformed: (.unusableResponse, "got a response that is not valid HTTP")
            case .tooLarge: (.unusableResponse, "got a response that is too large")
            case .overloaded: (.overloaded, "was not sent: too many requests to the provider are under way")
            case .suspended: (.suspended, "was not sent: the provider has not responded to the last requests")
            case .shutDown: (.overloaded, "was not finished: the server is shutting down")
            }
        self.init(code, codeMayBeSpent: codeMayBeSpent, retryAfter: error.retryAfter, reason: "\(what) \(fault).")
    }
}
