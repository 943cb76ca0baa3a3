public import Foundation

/// An error of the server, with its error response, or of this library. Its description contains no token, no code and
/// no personal data.
public struct LatchkeyError: Error, Sendable, Hashable {
    /// A stable code: the server's `error`, or a code of this library.
    public struct Code: RawRepresentable, ExpressibleByStringLiteral, Sendable, Hashable {
        /// The code's text.
        public let rawValue: String

        /// A code of the server or of this library.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A code of the server or of this library.
        public init(stringLiteral value: String) { self.init(rawValue: value) }

        /// The carrier has authenticated the user, who is not registered: see ``LatchkeyError/registration``.
        public static let userNotRegistered: Code = "user_not_registered"
        /// The user denied the request.
        public static let accessDenied: Code = "access_denied"
        /// The code, code verifier or refresh token is invalid.
        public static let invalidGrant: Code = "invalid_grant"
        /// The session token is missing, expired or revoked.
        public static let invalidToken: Code = "invalid_token"
        /// The proof of the app's key is missing or wrong.
        public static let invalidKeyProof: Code = "invalid_dpop_proof"
        /// The API key is missing or unknown.
        public static let invalidAPIKey: Code = "invalid_api_key"
        /// Too many requests; see ``LatchkeyError/retryAfter``.
        public static let rateLimited: Code = "rate_limited"
        /// The server is temporarily unavailable. The session remains.
        public static let temporarilyUnavailable: Code = "temporarily_unavailable"
        /// The user did not decide about a backchannel authentication request in time.
        public static let expired: Code = "expired_token"
        /// The operator did not recognise the phone by its network or SIM.
        public static let notOnMobileNetwork: Code = "not_on_mobile_network"
        /// The SIM was changed a short time ago.
        public static let simSwapped: Code = "sim_swapped"
        /// No operator of the server serves the network.
        public static let operatorUnknown: Code = "operator_unknown"
        /// The operator wants the user's consent first.
        public static let consentRequired: Code = "consent_required"
        /// The digital credential failed a check, which the message names.
        public static let credentialInvalid: Code = "credential_invalid"
        /// The identity or the number belongs to another user.
        public static let userAlreadyExists: Code = "user_already_exists"
        /// The sign-in of the session is too old for the request. Sign in again first.
        public static let insufficientUserAuthentication: Code = "insufficient_user_authentication"
        /// The identity is the user's only one.
        public static let lastIdentity: Code = "last_identity"

        /// Of this library: there is no session, or it has ended.
        public static let signedOut: Code = "signed_out"
        /// Of this library: there is no response.
        public static let networkFailure: Code = "network_failure"
        /// Of this library: the response is not Latchkey's.
        public static let malformedResponse: Code = "malformed_answer"
        /// Of this library: the ``TokenStore`` failed.
        public static let storeFailure: Code = "store_failure"
        /// Of this library: the URL is not the callback of the pending sign-in or verification.
        public static let foreignCallback: Code = "foreign_callback"
        /// Of this library: the request would send the session to an untrusted origin.
        public static let untrustedOrigin: Code = "untrusted_origin"
        /// Of this library: there is no connection over the cellular network, or no response in time.
        public static let cellularUnavailable: Code = "cellular_unavailable"
        /// Of this library: the operator showed a page, or redirected to a URL that is not https.
        public static let authorizationStopped: Code = "authorization_stopped"
        /// Of this library: the phone has no function for any of its ways to prove its number, or each one refused.
        public static let phoneRefused: Code = "phone_refused"
        /// Of this library: the task was cancelled.
        public static let cancelled: Code = "cancelled"
    }

    /// The error types of ZenKey's guides, which decide what the app shows the user.
    public enum Kind: String, Sendable, Hashable, Codable {
        case invalidRequest, requestDenied, requestTimeout, serverError, networkFailure, configurationError
        case discoveryStateError, unknownError
    }

    /// The stable code.
    public let code: Code
    /// The cause and the remedy, for developers.
    public let message: String
    /// The server's `message` for the user of the app, without technical terms; nil if there is none.
    public internal(set) var userMessage: String?
    /// The error type for the app.
    public let kind: Kind
    /// The status of the response; nil if there is none.
    public internal(set) var status: Int?
    /// The sign-in's identifier in the carrier's and the server's logs.
    public internal(set) var correlationID: String?
    /// The request's identifier in the server's log.
    public internal(set) var requestID: String?
    /// The seconds to wait before a retry.
    public internal(set) var retryAfter: TimeInterval?
    /// With ``Code/userNotRegistered``: the start of the registration.
    public internal(set) var registration: RegistrationOffer?

    init(_ code: Code, _ message: String, kind: Kind = .unknownError) {
        self.code = code
        self.message = message
        self.kind = kind
    }

    /// Whether the user must sign in again.
    public var isSignedOut: Bool { code == .signedOut }
}

extension LatchkeyError: CustomStringConvertible, LocalizedError {
    /// The code, the message, the status and the request's identifier.
    public var description: String {
        var text = code.rawValue + ": " + message
        if let status { text += " (status \(status)" + (requestID.map { ", request \($0)" } ?? "") + ")" }
        return text
    }

    /// The message.
    public var errorDescription: String? { message }
}

extension LatchkeyError {
    static let notSignedIn = LatchkeyError(.signedOut, "The user is not signed in.", kind: .requestDenied)
    static let wasCancelled = LatchkeyError(.cancelled, "The call was cancelled.")
    static let malformed = LatchkeyError(
        .malformedResponse, "The response is not from Latchkey. Check baseURL.", kind: .serverError)
    static let untrustedOrigin = LatchkeyError(
        .untrustedOrigin, "The session is sent only to Latchkey and to trustedOrigins.", kind: .configurationError)
    static let foreignCallback = LatchkeyError(
        .foreignCallback, "The URL is not the callback of this sign-in or verification.", kind: .invalidRequest)

    static func noResponse(_ error: any Error) -> LatchkeyError {
        if error is CancellationError { return .wasCancelled }
        guard let error = error as? URLError else {
            return LatchkeyError(.networkFailure, "There is no response.", kind: .networkFailure)
        }
        guard error.code != .cancelled else { return .wasCancelled }
        // Its description may contain the URL, and the URL a code.
        return LatchkeyError(
            .networkFailure, "There is no response (URLError \(error.code.rawValue)).", kind: .networkFailure)
    }

    static func store(_ error: any Error) -> LatchkeyError {
        LatchkeyError(.storeFailure, "The tokens cannot be loaded or saved (\(type(of: error))).")
    }

    /// The same error for a session that has ended.
    var asSignedOut: LatchkeyError {
        var error = LatchkeyError(.signedOut, message, kind: .requestDenied)
        error.userMessage = userMessage
        error.status = status
        error.correlationID = correlationID
        error.requestID = requestID
        return error
    }
}
