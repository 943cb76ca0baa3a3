package import Primitives

/// Why a step of the protocol failed. Two errors are equal when code and check are.
///
/// Its texts are safe to log and to send to clients: they contain no secret, code, token, subject or claim value.
public struct OIDCError: Error, Sendable {
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// Discovery knows no carrier for the network, or sends the user to choose one.
        case unknownNetwork = "unknown_network"
        /// The discovery service responded with an error code, in ``OIDCError/carrierError``.
        case discoveryRefused = "discovery_refused"
        /// The provider's metadata cannot be used or must not be trusted.
        case metadataRefused = "metadata_refused"
        /// The provider's signing keys are not available.
        case keysUnavailable = "keys_unavailable"
        /// The token endpoint refused the code, with ``OIDCError/carrierError``.
        case carrierRefused = "carrier_refused"
        /// The provider does not accept our client, or its metadata says that it will not. Our configuration is at
        /// fault, not the user.
        case clientRefused = "client_refused"
        /// The ID token, or the userinfo response beside it, failed the check named by ``OIDCError/check``.
        case invalidIDToken = "invalid_id_token"
        /// An API of the provider refused the request, with its code in ``OIDCError/carrierError``.
        case apiRefused = "api_refused"
        /// The provider's response is not what the protocol prescribes.
        case unusableResponse = "unusable_answer"
        /// The provider did not respond in time.
        case timedOut = "timed_out"
        /// No connection to the provider, none with a valid certificate, or one that was closed without an answer.
        case unreachable
        /// Too many requests to this provider are under way, or this process is shutting down.
        case overloaded
        /// The circuit breaker is open: the provider has not responded lately.
        case suspended
        /// The store cannot tell what is known about the carrier.
        case storeUnavailable = "store_unavailable"
    }

    private struct Contents: Sendable {
        let code: Code
        let check: IDTokenCheck?
        let carrierError: String?
        let codeMayBeSpent: Bool
        let retryAfter: Int64?
        var reason: String
        var request: FailedRequest?
    }

    private var contents: Boxed<Contents>

    public var code: Code { contents.value.code }
    /// The check that failed, when ``code`` is ``Code/invalidIDToken``.
    public var check: IDTokenCheck? { contents.value.check }
    /// The provider's error code, if it sent one of 1 to 64 letters, digits, `_`, `.` and `-`, with a letter.
    public var carrierError: String? { contents.value.carrierError }
    /// True if the authorization code may have been used up, so that it must not be sent again.
    public var codeMayBeSpent: Bool { contents.value.codeMayBeSpent }
    /// Seconds after which another try makes sense, if known.
    public var retryAfter: Int64? { contents.value.retryAfter }
    /// One sentence for developers, without values that a provider or client sent.
    public private(set) var reason: String {
        get { contents.value.reason }
        set { contents.value.reason = newValue }
    }
    /// The request that failed, or whose response is refused; nil if no provider is involved.
    public internal(set) var request: FailedRequest? {
        get { contents.value.request }
        set { contents.value.request = newValue }
    }

    /// What became of a request to a provider, for the log.
    public struct FailedRequest: Sendable, Hashable {
        /// The host, with the port if it is not the usual one.
        public let host: String
        /// The status of the response; nil if there is none, or if the error is not about one response.
        public let status: Int?
        /// Why there is no response, such as `connection refused`; nil if there is one.
        public let transportError: String?

        package init(to url: EndpointURL, status: Int? = nil, transportError: String? = nil) {
            host = url.authority
            self.status = status
            self.transportError = transportError
        }
    }

    /// An error; a provider's error code that does not look like one is left out.
    public init(
        _ code: Code, check: IDTokenCheck? = nil, carrierError: String? = nil, codeMayBeSpent: Bool = false,
        retryAfter: Int64? = nil, reason: String
    ) {
        contents = Boxed(
            Contents(
                code: code, check: check, carrierError: carrierError.flatMap { Self.isErrorCode($0) ? $0 : nil },
                codeMayBeSpent: codeMayBeSpent, retryAfter: retryAfter, reason: reason))
    }

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

    /// The failure of one check of the ID token.
    public static func failed(_ check: IDTokenCheck) -> OIDCError {
        OIDCError(.invalidIDToken, check: check, codeMayBeSpent: true, reason: check.demand)
    }

    /// A response, to the request that spends the code or a later one, that is not what the protocol prescribes.
    package static func unusable(_ reason: String) -> OIDCError {
        OIDCError(.unusableResponse, codeMayBeSpent: true, reason: reason)
    }

    /// The provider's metadata says that it will not accept what the client is configured for.
    static func notListed(_ what: String) -> OIDCError {
        OIDCError(.clientRefused, reason: "The provider does not list \(what).")
    }

    func adding(_ sentence: String) -> OIDCError { altered(self) { $0.reason += " " + sentence } }

    /// The error as one of a request; an error that names its request already stays.
    func at(_ request: @autoclosure () -> FailedRequest) -> OIDCError {
        self.request == nil ? altered(self) { $0.request = request() } : self
    }

    /// Whether a text can be shown as a provider's error code: 1 to 64 letters, digits, `_`, `.` and `-`, with a
    /// letter. A text without one could be a phone number.
    package static func isErrorCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
            && text.utf8.contains(where: \.isASCIILetter)
    }
}

extension OIDCError: Equatable {
    /// Compares ``code`` and ``check``.
    public static func == (left: OIDCError, right: OIDCError) -> Bool {
        left.code == right.code && left.check == right.check
    }
}

extension OIDCError: CustomStringConvertible {
    /// `code (check) [provider error]: reason`
    public var description: String {
        var text = code.rawValue
        if let check { text += " (\(check.rawValue))" }
        if let carrierError { text += " [\(carrierError)]" }
        return text + ": " + reason
    }
}
