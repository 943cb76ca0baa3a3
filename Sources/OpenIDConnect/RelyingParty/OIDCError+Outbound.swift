extension OIDCError {
    /// What a transport failure means for the step that sent the request.
    init(_ error: OutboundError, of what: StaticString, codeMayBeSpent: Bool) {
        let (code, fault): (Code, StaticString) =
            switch error.code {
            case .timedOut: (.timedOut, "was not answered in time")
            case .unreachable: (.unreachable, "found no server")
            case .addressRefused: (.unreachable, "went to an address that requests must not be sent to")
            case .tls: (.unreachable, "found no server with a valid certificate")
            case .malformed: (.unusableResponse, "was not answered in proper HTTP")
            case .tooLarge: (.unusableResponse, "was answered with too much")
            case .overloaded: (.overloaded, "had to wait for too many others")
            case .suspended: (.suspended, "was not sent: there was no answer to the last ones")
            case .shutDown: (.overloaded, "came while the server was shutting down")
            }
        self.init(code, codeMayBeSpent: codeMayBeSpent, retryAfter: error.retryAfter, reason: "\(what) \(fault).")
    }
}
