public import Foundation

/// Why something did not go through, in the words of the server's error answers. Nothing of a token, a code or a person
/// is in its description.
public struct LatchkeyError: Error, Sendable, Hashable {
    /// A stable word for what went wrong: the server's `error`, or one of this library's own.
    public struct Code: RawRepresentable, ExpressibleByStringLiteral, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { self.init(rawValue: value) }

        /// The carrier vouches for the user, whom nobody here knows yet: see ``LatchkeyError/registration``.
        public static let userNotRegistered: Code = "user_not_registered"
        /// The user said no.
        public static let accessDenied: Code = "access_denied"
        /// What was shown (a code, a verifier) is worth nothing.
        public static let invalidGrant: Code = "invalid_grant"
        public static let invalidToken: Code = "invalid_token"
        public static let invalidAPIKey: Code = "invalid_api_key"
        /// Too often; ``LatchkeyError/retryAfter`` tells when to come again.
        public static let rateLimited: Code = "rate_limited"
        /// The server cannot tell for the moment; nobody is signed out by that.
        public static let temporarilyUnavailable: Code = "temporarily_unavailable"
        /// A server-initiated sign-in was not answered in time.
        public static let expired: Code = "expired_token"

        /// Own: nobody is signed in, or no longer.
        public static let signedOut: Code = "signed_out"
        /// Own: there was no answer.
        public static let networkFailure: Code = "network_failure"
        /// Own: the answer is not Latchkey's.
        public static let malformedResponse: Code = "malformed_answer"
        /// Own: the ``TokenStore`` failed.
        public static let storeFailure: Code = "store_failure"
        /// Own: the URL is not how the sign-in comes back that was started.
        public static let foreignCallback: Code = "foreign_callback"
        /// Own: the request would carry the session to a place that is not known.
        public static let untrustedOrigin: Code = "untrusted_origin"
        /// Own: the task was cancelled.
        public static let cancelled: Code = "cancelled"
    }

    /// The guides' table of what to tell a user.
    public enum Kind: String, Sendable, Hashable, Codable {
        case invalidRequest, requestDenied, requestTimeout, serverError, networkFailure, configurationError
        case discoveryStateError, unknownError
    }

    public let code: Code
    /// What was wrong and what to do, for developers.
    public let message: String
    /// The server's `message` for the person who uses the app: short, without technical terms. Nil if there was none.
    public internal(set) var userMessage: String?
    public let kind: Kind
    /// The status of the answer; nil if there was none.
    public internal(set) var status: Int?
    public internal(set) var correlationID: String?
    /// What the server's log knows the request by.
    public internal(set) var requestID: String?
    /// Seconds after which another try makes sense.
    public internal(set) var retryAfter: TimeInterval?
    /// With ``Code/userNotRegistered``: what the registration starts with.
    public internal(set) var registration: RegistrationOffer?

    init(_ code: Code, _ message: String, kind: Kind = .unknownError) {
        self.code = code
        self.message = message
        self.kind = kind
    }

    /// Whether the user has to sign in again.
    public var isSignedOut: Bool { code == .signedOut }
}

extension LatchkeyError: CustomStringConvertible, LocalizedError {
    public var description: String {
        var text = code.rawValue + ": " + message
        if let status { text += " (status \(status)" + (requestID.map { ", request \($0)" } ?? "") + ")" }
        return text
    }

    public var errorDescription: String? { message }
}

extension LatchkeyError {
    static let nobodySignedIn = LatchkeyError(.signedOut, "Nobody is signed in.", kind: .requestDenied)
    static let wasCancelled = LatchkeyError(.cancelled, "The call was cancelled.")
    static let notLatchkeys = LatchkeyError(
        .malformedResponse, "The answer is not one of Latchkey's. Check baseURL.", kind: .serverError)
    static let noFurtherOrigin = LatchkeyError(
        .untrustedOrigin, "The session goes to Latchkey and to trustedOrigins only.", kind: .configurationError)
    static let foreignCallback = LatchkeyError(
        .foreignCallback, "The URL is not one that the sign-in comes back with.", kind: .invalidRequest)

    static func noResponse(_ error: any Error) -> LatchkeyError {
        if error is CancellationError { return .wasCancelled }
        guard let error = error as? URLError else {
            return LatchkeyError(.networkFailure, "There was no answer.", kind: .networkFailure)
        }
        guard error.code != .cancelled else { return .wasCancelled }
        // Its description may have the URL, and that a code.
        return LatchkeyError(
            .networkFailure, "There was no answer (URLError \(error.code.rawValue)).", kind: .networkFailure)
    }

    static func store(_ error: any Error) -> LatchkeyError {
        LatchkeyError(.storeFailure, "The tokens cannot be read or kept (\(type(of: error))).")
    }

    /// The same, told of a session that is over.
    var asSignedOut: LatchkeyError {
        var error = LatchkeyError(.signedOut, message, kind: .requestDenied)
        error.userMessage = userMessage
        error.status = status
        error.correlationID = correlationID
        error.requestID = requestID
        return error
    }
}
