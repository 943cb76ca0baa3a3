/// The kinds of error that ZenKey's app kits tell apart, by which an app decides what to show.
public enum ErrorType: String, Sendable, Hashable, CaseIterable {
    case invalidRequest
    case requestDenied
    case requestTimeout
    case serverError
    case networkFailure
    case configurationError
    case discoveryStateError
    case unknownError

    /// The kind of a carrier's error code, as the app kits map it.
    init(carrierError code: String) {
        self =
            switch code {
            case "invalid_request", "unauthorized_client", "invalid_client": .configurationError
            // RFC 6749 section 5.2 calls invalid_grant what carriers call request_denied.
            case "access_denied", "request_denied", "device_unavailable", "invalid_grant": .requestDenied
            case "invalid_scope", "invalid_request_object": .invalidRequest
            case "temporarily_unavailable", "server_error": .serverError
            case "network_failure": .networkFailure
            case "authentication_timed_out": .requestTimeout
            case "user_not_found", "user_unsupported", "invalid_login_hint", "invalid_login_hint_token":
                .discoveryStateError
            default: .unknownError
            }
    }
}
