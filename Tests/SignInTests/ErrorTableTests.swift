import OpenIDConnect
import SignIn
import Testing

/// The map of the carriers' error codes to what apps are told (the app kits' table).
@Suite("The kind of an error")
struct ErrorTableTests {
    static let kinds: [(String, ErrorType)] = [
        ("access_denied", .requestDenied), ("request_denied", .requestDenied), ("device_unavailable", .requestDenied),
        ("invalid_grant", .requestDenied), ("invalid_scope", .invalidRequest),
        ("invalid_request_object", .invalidRequest), ("network_failure", .networkFailure),
        ("authentication_timed_out", .requestTimeout), ("user_not_found", .discoveryStateError),
        ("user_unsupported", .discoveryStateError), ("invalid_login_hint", .discoveryStateError),
        ("invalid_login_hint_token", .discoveryStateError), ("invalid_request", .configurationError),
        ("unauthorized_client", .configurationError), ("something_else", .unknownError),
    ]

    @Test("is the app kits' for each of the carriers' codes", arguments: kinds)
    func carrierCode(_ code: String, _ type: ErrorType) {
        let error = SignInError(OIDCError(.carrierRefused, carrierError: code, reason: ""))
        #expect(error.code == .refusedByCarrier(code))
        #expect(error.errorType == type)
    }

    @Test(
        "is the server's where the carrier says that it has a fault",
        arguments: ["temporarily_unavailable", "server_error"])
    func carrierFault(_ code: String) {
        let error = SignInError(OIDCError(.carrierRefused, carrierError: code, reason: ""))
        #expect(error.code == .carrierError)
        #expect(error.errorType == .serverError)
    }

    @Test("names the check of an ID token that failed", arguments: IDTokenCheck.allCases)
    func check(_ check: IDTokenCheck) {
        let error = SignInError(.failed(check))
        #expect(error.code == .invalidIDToken)
        #expect(error.check == check)
        #expect(error.description.contains("(\(check.rawValue))"))
    }
}
