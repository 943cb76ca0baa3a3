/// What the error codes of a mobile operator's OAuth endpoints mean for an app that signs a user in by number.
///
/// An app can do nothing about a fault of the operator or of this server's registration, but another way to sign in may
/// work. So it gets the codes about its user, its device and its token, and `carrier_error` for all others, after which
/// clients go on to the next way.
package enum OperatorErrorTable {
    /// What a code is about.
    package enum Subject: Sendable, Hashable {
        /// The device, which the operator does not recognise by its network or SIM: `not_on_mobile_network`. No page
        /// is shown, because `prompt` is `none` (OpenID Connect Core section 3.1.2.6).
        case device
        /// The user or the token of the app, which gets the code.
        case user
        /// This server's registration with the operator, or its requests: `carrier_error`, and an error in the log.
        case registration
        /// The operator: `carrier_error`, and a warning in the log.
        case mobileOperator
    }

    /// The codes that are not about the operator.
    package static let subjects: [String: Subject] = [
        "login_required": .device, "interaction_required": .device, "account_selection_required": .device,
        "access_denied": .user, "consent_required": .user, "invalid_grant": .user,
        // RFC 6749 sections 4.1.2.1 and 5.2, OpenID Connect Core section 3.1.2.6, RFC 9126 section 2.3.
        "invalid_request": .registration, "invalid_client": .registration, "unauthorized_client": .registration,
        "invalid_scope": .registration, "unsupported_grant_type": .registration,
        "unsupported_response_type": .registration, "invalid_request_object": .registration,
        "invalid_request_uri": .registration, "request_not_supported": .registration,
        "request_uri_not_supported": .registration, "registration_not_supported": .registration,
        // RFC 9449 section 5, RFC 8707 section 2.
        "invalid_dpop_proof": .registration, "invalid_target": .registration,
    ]

    /// - Parameter code: Nil for one that is none.
    static func subject(of code: String?) -> Subject { code.flatMap { subjects[$0] } ?? .mobileOperator }
}
