/// The text of an error for the person who uses the app: short, and without technical terms.
package enum UserMessage {
    /// What a person is told where the code and the kind of an error say too little. The raw value is the text.
    package enum Situation: String, Sendable, Hashable, CaseIterable {
        case over = "This sign-in can no longer be finished. Please start it again."
        case elsewhere = "This sign-in was not started in this browser, or cookies are off. Please start it again here."
        case misconfigured = "This app is not set up correctly. Please contact its support."
        case unconfirmed = "Your sign-in could not be confirmed. Please try again."
    }

    /// - Parameters:
    ///   - code: The `error` of the response.
    ///   - type: Decides where the code alone says nothing to a person.
    package static func text(_ code: String, _ type: ErrorType) -> String {
        switch code {
        case "user_not_registered", "unlinked_user":
            "You do not have an account here yet. Please register to continue."
        case "user_already_exists": "This already belongs to an account. Please sign in with it instead."
        case "email_domain_blocked": "This email address cannot be used here. Please use another one."
        case "receipt_redeemed": "This was used before, so it cannot be used again."
        case "last_identity": "This is your only way to sign in, so it cannot be removed."
        case "invalid_token", "invalid_grant", "insufficient_user_authentication": "Please sign in again to continue."
        case "grant_missing", "grant_revoked": "Please sign in with this provider again to continue."
        case "invalid_id_token", "issuer_mismatch": Situation.unconfirmed.rawValue
        case "not_on_mobile_network":
            "Your phone number could not be checked. Please turn on mobile data and try again, or sign in another way."
        case "sim_swapped":
            "The SIM card of this number was changed lately. Please sign in another way."
        case "operator_unknown": text(.discoveryStateError)
        case "device_unavailable": "Your phone could not be reached. Please switch it on and try again."
        case "expired_token", "authentication_timed_out", "carrier_timeout", "request_timeout": text(.requestTimeout)
        case "access_denied", "request_denied": text(.requestDenied)
        case "invalid_api_key", "unauthorized_client": text(.configurationError)
        // Another try has the same result.
        case "carrier_error" where type == .configurationError: text(type)
        case "temporarily_unavailable", "carrier_error":
            "This is not available at the moment. Please try again in a minute."
        case "rate_limited": "That was too often. Please wait a moment and try again."
        case "not_found": "This could not be found."
        case "payload_too_large": "This is too large to be sent."
        default: text(type)
        }
    }

    private static func text(_ type: ErrorType) -> String {
        switch type {
        case .invalidRequest: "Something that was entered is not right. Please check it and try again."
        case .requestDenied: "This was declined. Please try again if that was not intended."
        case .requestTimeout: "There was no answer in time. Please try again."
        case .serverError: "Something went wrong on our side. Please try again later."
        case .networkFailure: "The connection failed. Please check it and try again."
        case .configurationError: Situation.misconfigured.rawValue
        case .discoveryStateError: "You cannot be signed in this way. Please choose another way to sign in."
        case .unknownError: "This did not go through. Please try again, and contact support if it keeps failing."
        }
    }
}
