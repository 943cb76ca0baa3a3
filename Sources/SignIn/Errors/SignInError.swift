package import OpenIDConnect
package import Primitives
package import StorageModel

/// The error of a use case, with the code and the description that the API returns.
///
/// Its texts are safe to log and to send: no secret, code, token, subject or attribute is ever in them.
@dynamicMemberLookup
package struct SignInError: Error, Sendable, Hashable {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case invalidRequest = "invalid_request"
        /// A session token or a registration handle that is unknown, used or expired.
        case invalidToken = "invalid_token"
        /// The session's sign-in is too old for this request (RFC 9470 section 3).
        case insufficientUserAuthentication = "insufficient_user_authentication"
        case invalidIDToken = "invalid_id_token"
        /// A digital credential that failed the check that the description names.
        case credentialInvalid = "credential_invalid"
        /// The response of an aggregator of mobile networks cannot be used, or it refused the credential.
        case aggregatorError = "aggregator_error"
        /// The authorization response is not the provider's (RFC 9207 section 2.4): a mix-up.
        case issuerMismatch = "issuer_mismatch"
        /// A receipt that was redeemed before.
        case receiptRedeemed = "receipt_redeemed"
        /// The provider refused the code: `providerCode` of the error says why.
        case refusedByProvider = "refused_by_carrier"
        /// The caller may not use the client (RFC 6749 section 5.2).
        case unauthorizedClient = "unauthorized_client"
        /// A refresh token that is unknown, used, revoked or expired.
        case invalidGrant = "invalid_grant"
        /// A proof of an app's key that is missing or wrong (RFC 9449).
        case invalidKeyProof = "invalid_dpop_proof"
        case emailDomainBlocked = "email_domain_blocked"
        case userAlreadyExists = "user_already_exists"
        /// Without this identity the user could no longer sign in.
        case lastIdentity = "last_identity"
        case notFound = "not_found"
        /// No tokens of the provider are stored for the user.
        case grantMissing = "grant_missing"
        /// The provider or the user has revoked the user's consent.
        case grantRevoked = "grant_revoked"
        /// The mobile operator could not authenticate the device by its network or SIM.
        case notOnMobileNetwork = "not_on_mobile_network"
        /// The SIM of the number was changed lately.
        case simSwapped = "sim_swapped"
        /// No operator serves the network.
        case operatorUnknown = "operator_unknown"
        /// The user did not respond to a backchannel authentication in time (CIBA Core section 11).
        case expired = "expired_token"
        case rateLimited = "rate_limited"
        /// The provider's response cannot be used, or the provider cannot be reached.
        case carrierError = "carrier_error"
        case carrierTimeout = "carrier_timeout"
        /// The store is unavailable, or the provider's circuit breaker is open.
        case temporarilyUnavailable = "temporarily_unavailable"
        case serverError = "server_error"
    }

    /// What an error has, besides what follows from it.
    package struct Contents: Sendable, Hashable {
        package let code: Code
        /// The error code, of OAuth or of the provider's own, with which the provider refused.
        package let providerCode: String?
        package let errorType: ErrorType
        fileprivate let problem: String
        /// What to do, where ``problem`` does not say it.
        fileprivate var remedy: String?
        /// The name of the request's field that is to blame, with which the description begins; nil if there is none.
        package fileprivate(set) var field: String?
        /// What is wrong with each attribute that is to blame, such as `is missing`; the description names them all.
        package internal(set) var attributeProblems = UserAttributes<String>()
        /// The check of the ID token that failed, if one did.
        package var check: IDTokenCheck?
        /// What exactly was wrong with the provider's response or with the store, for the log.
        package var cause: String?
        /// The provider's own error code, if it sent one, for the log.
        package var carrierError: String?
        /// The request to the provider that failed, for the log.
        package internal(set) var request: OIDCError.FailedRequest?
        fileprivate var situation: UserMessage.Situation?
        /// Seconds after which to try again; nil if a retry does not help.
        package let retryAfter: Int64?
        /// Who caused it. The client's errors are logged as info, the provider's as warnings, the server's as errors.
        package let fault: Fault
        /// True if the authorization code may have been used up.
        package var codeMayBeSpent: Bool
        package internal(set) var correlationID: CorrelationID?
    }

    private var contents: Boxed<Contents>

    package enum Fault: Sendable, Hashable {
        /// The app or its user.
        case client
        case provider
        case ours
    }

    package init(
        _ code: Code, _ errorType: ErrorType, _ problem: String, remedy: String? = nil, field: String? = nil,
        providerCode: String? = nil, retryAfter: Int64? = nil, fault: Fault = .client, codeMayBeSpent: Bool = false
    ) {
        contents = Boxed(
            Contents(
                code: code, providerCode: providerCode, errorType: errorType, problem: problem, remedy: remedy,
                field: field,
                retryAfter: retryAfter, fault: fault, codeMayBeSpent: codeMayBeSpent))
    }

    package subscript<Value>(dynamicMember member: KeyPath<Contents, Value>) -> Value {
        contents.value[keyPath: member]
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<Contents, Value>) -> Value {
        get { contents.value[keyPath: member] }
        set { contents.value[keyPath: member] = newValue }
    }

    /// What was wrong and what to do, for the developer of the app.
    package var description: String {
        (self.field.map { $0 + " " } ?? "") + self.problem + (self.remedy.map { " " + $0 } ?? "")
    }
    /// The text for the person who uses the app.
    package var userMessage: String { self.situation?.rawValue ?? UserMessage.text(codeText, self.errorType) }
    /// The `error` of a response.
    package var codeText: String { self.providerCode ?? self.code.rawValue }

    package static func invalidRequest(_ description: String) -> SignInError {
        SignInError(.invalidRequest, .invalidRequest, description)
    }

    /// - Parameters:
    ///   - field: The field's name in RFC 6749.
    ///   - problem: The description without that name.
    package static func invalidRequest(field: String, _ problem: String) -> SignInError {
        SignInError(.invalidRequest, .invalidRequest, problem, field: field)
    }

    package static func invalidGrant(_ description: String) -> SignInError {
        SignInError(.refusedByProvider, .requestDenied, description, providerCode: "invalid_grant")
    }

    /// This error, with the text for a situation in place of the usual one for the person who uses the app.
    package func telling(_ situation: UserMessage.Situation) -> SignInError {
        altered(self) { $0.situation = situation }
    }

    /// At groups of mobile operators, as the next two.
    package static let operatorUnknown = SignInError(
        .operatorUnknown, .discoveryStateError,
        "No operator of this provider serves this mccmnc, or has this name. Use another sign-in method.")

    package static let notOnMobileNetwork = SignInError(
        .notOnMobileNetwork, .requestDenied,
        "The mobile operator could not recognise the device by its network or SIM. Use another sign-in method, or "
            + "start again over the mobile network.")

    package static func simSwapped(withinHours hours: Int) -> SignInError {
        SignInError(
            .simSwapped, .requestDenied,
            "The SIM of this number was changed within the last \(hours) hours. Use another sign-in method.")
    }

    /// Of a number that alone names its user, as the next two. Not 403, which apps read as the offer of a registration.
    package static let numberOfNoAccount = SignInError(
        .refusedByProvider, .requestDenied,
        "No account signs in with this number, and a number alone registers nobody here. \(addNumber)",
        providerCode: "request_denied")

    package static let numberOfOtherAccount = SignInError(
        .userAlreadyExists, .requestDenied,
        "An account has verified this number in another way, and does not sign in with it. \(addNumber)")

    /// The number may be another person's by now.
    package static let numberNotVerified = SignInError(
        .userAlreadyExists, .requestDenied,
        "This number is a way to sign in of an account whose verified number it is no more. \(addNumber)")

    /// A digital credential failed a check.
    package static func credentialInvalid(_ demand: String, _ check: String) -> SignInError {
        SignInError(
            .credentialInvalid, .unknownError,
            "\(demand) (\(check)). Get a credential for this request, or use another sign-in method.")
    }

    /// - Parameter problem: What the aggregator does.
    package static func aggregatorError(_ problem: String = "does not tell the number") -> SignInError {
        SignInError(
            .aggregatorError, .serverError,
            "The aggregator \(problem). Use another sign-in method, or start again.", fault: .provider,
            codeMayBeSpent: true)
    }

    private static let addNumber =
        "Sign in in another way, and add the number to the account as an identity."

    package static func carrierError(
        _ description: String, _ type: ErrorType = .serverError, fault: Fault = .provider
    ) -> SignInError {
        SignInError(.carrierError, type, description, fault: fault)
    }

    /// This error of a request that cannot be sent again. A failure of the store says so.
    package func withoutRetry() -> SignInError {
        self.remedy == nil ? self : altered(self) { $0.remedy = "Start a new sign-in in a moment." }
    }

    /// This error, with another one as its cause for the log.
    package func explained(by other: OIDCError) -> SignInError {
        explained(other.check, other.reason, other.carrierError, other.request)
    }

    /// The same, for another error of a use case.
    package func explained(by other: SignInError) -> SignInError {
        explained(other.check, other.cause ?? other.description, other.carrierError, other.request)
    }

    private func explained(
        _ check: IDTokenCheck?, _ cause: String, _ carrierError: String?, _ request: OIDCError.FailedRequest?
    ) -> SignInError {
        altered(self) { ($0.check, $0.cause, $0.carrierError, $0.request) = (check, cause, carrierError, request) }
    }

    /// This error as one of a provider's endpoint, unless it names its request already.
    package func at(_ endpoint: EndpointURL?) -> SignInError {
        guard self.request == nil, let endpoint else { return self }
        return altered(self) { $0.request = OIDCError.FailedRequest(to: endpoint) }
    }

    /// This error, for the client that made the request.
    /// - Parameter sentNames: The names under which the client sent fields, by their names in RFC 6749.
    package func with(_ correlationID: CorrelationID, _ sentNames: [String: String] = [:]) -> SignInError {
        altered(self) { error in
            error.correlationID = correlationID
            if let field = error.field, let sent = sentNames[field] { error.field = sent }
        }
    }
}

/// The kinds of error that ZenKey's app kits distinguish, by which an app decides what to show (the iOS guide, section
/// 8).
package enum ErrorType: String, Sendable, Hashable, CaseIterable {
    case invalidRequest
    case requestDenied
    case requestTimeout
    case serverError
    case networkFailure
    case configurationError
    case discoveryStateError
    case unknownError

    /// What to do about it.
    package var remedy: String {
        switch self {
        case .invalidRequest: "Check the parameters of the authorization request."
        case .requestDenied: "Tell the user that the request was denied."
        case .requestTimeout: "Tell the user that there was no response in time, and offer another try."
        case .serverError: "Try again later."
        case .networkFailure: "Ask the user to check the connection and try again."
        case .configurationError: "Compare the client's configuration here and in the app with the provider's portal."
        case .discoveryStateError:
            "At a carrier, run carrier discovery and the authorization request again; elsewhere, offer another way to "
                + "sign in."
        case .unknownError: "If it persists, contact the administrator."
        }
    }

    /// The kind of a provider's error code, as the app kits map it.
    package init(carrierError code: String) { self = ProviderErrorTable.row(of: code).type }
}

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
        case "invalid_id_token", "issuer_mismatch", "credential_invalid": Situation.unconfirmed.rawValue
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
        case "temporarily_unavailable", "carrier_error", "aggregator_error":
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

/// Errors of the use cases themselves.
extension SignInError {
    /// Names the configured providers, at most ten: the sign-in page shows them to everyone, too.
    package static func unknownProvider(among names: [String]) -> SignInError {
        let shown = names.prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
        return SignInError(
            .notFound, .invalidRequest,
            "No sign-in provider of this name is configured. Use the name of a configured one: \(shown).")
    }

    package static let unknownClient = invalidRequest(
        field: "client_id",
        "is not one of this provider's clients. Use the client_id that is registered for this app.")

    /// - Parameter sent: Is in the log only, without its query, beside the nearest of the registered ones.
    package static func redirectURINotRegistered(_ sent: String, among registered: [String]) -> SignInError {
        var error = invalidRequest(
            field: "redirect_uri",
            "is not one of the client's registered redirect URIs. Send it exactly as it is registered."
        ).telling(.misconfigured)
        let shown = AppRedirectURI.shown(sent)
        error.cause =
            AppRedirectURI.nearest(to: sent, among: registered).map {
                "redirect_uri is \(shown), which is not registered; the nearest registered one is \($0)"
            } ?? "redirect_uri is \(shown), and the client has no registered one"
        return error
    }

    static let codeVerifierMissing = invalidRequest(
        "code_verifier is missing. Send the verifier of the authorization request's code_challenge.")

    static let nonceMissing = invalidRequest("nonce is missing. This client needs a nonce from the attempts endpoint.")

    static let nativeNonceMissing = invalidRequest(
        "nonce is missing. Send the nonce that the ID token was requested with; where the token has its SHA-256, the "
            + "nonce itself.")

    static let nonceNeeded = invalidRequest(
        "nonce is missing. Send the nonce of the authorization request: sign-ins at this provider have no PKCE.")

    static let levelNotAccepted = invalidRequest(
        field: "acr_values", "has none of the levels that sign-ins here must have. Ask the provider for one of those.")

    package static let browserNeeded = invalidRequest(
        "This provider supports neither PKCE nor nonce, so that its sign-ins must begin in the browser, at its start.")

    package static let nothingConfirms = invalidRequest(
        "This provider issues no ID tokens to confirm nonce, acr_values or context. Leave them out.")

    static let nonceNotIssued = invalidRequest(
        "nonce was not issued by this server, or was used, or has expired. Get a new one from the attempts endpoint.")

    /// The sign-in was sent again, and its user was erased since.
    static let userErased = invalidGrant(
        "The code was used before, and its user was erased since. Start again with a new authorization request.")

    /// The account was moved away from this identity. The carrier may have given it to another user since.
    static let identityMoved = SignInError(
        .refusedByProvider, .requestDenied,
        "The account was moved to another carrier. Sign in with that carrier; the administrator can undo a move "
            + "by mistake.",
        providerCode: "request_denied")

    /// The sign-in was sent again, and a session of its user was ended since.
    static let signedOutSince = invalidGrant(
        "The code was used before, and its user was signed out since. Start a new sign-in.")

    static let sentTooOften = invalidGrant(
        "The code was used before, and the same request was repeated too often. Start a new sign-in.")

    static let broughtAgain = invalidGrant(
        "The code was brought before, and no sign-in with it is known. Start a new sign-in.")

    static let sentAgainWithoutVerifier = SignInError(
        .refusedByProvider, .requestDenied,
        "The code or token was used before. A sign-in without a code_verifier cannot be sent again. Start a new one.",
        providerCode: "invalid_grant", codeMayBeSpent: true)

    package static let emailDomainBlocked = SignInError(
        .emailDomainBlocked, .invalidRequest,
        "The administrator does not allow e-mail addresses of this domain. Use another address.")

    package static let sessionUnknown = SignInError(
        .invalidToken, .requestDenied, "The session token is missing, unknown, expired or revoked. Sign in again.")

    /// Also for other users' sessions, so that guesses learn nothing.
    package static let noSuchSession = SignInError(
        .notFound, .invalidRequest, "The user has no session of this id. List the sessions to get their ids.")

    /// One text for every cause, so that guesses learn nothing.
    package static let refreshTokenInvalid = SignInError(
        .invalidGrant, .requestDenied,
        "The refresh token is unknown, expired, revoked, used before, or of another client. Sign in again.")

    /// As RFC 9449 section 5 demands it.
    package static let keyNotProved = keyProof("is missing, or of another key than the refresh token is bound to")

    /// - Parameter problem: What is wrong with the proof.
    package static func keyProof(_ problem: String) -> SignInError {
        SignInError(
            .invalidKeyProof, .invalidRequest,
            "The DPoP proof \(problem). Send a new one for this request, made with the key of the session.")
    }

    static let refreshContended = SignInError(
        .temporarilyUnavailable, .serverError,
        "Many requests use this refresh token at once. Send the same request again in a moment.", retryAfter: 1,
        fault: .ours)

    package static let internalFault = SignInError(
        .serverError, .serverError, "The server has an internal error. Try again later.", fault: .ours)

    package static func malformedAttributes(_ check: AttributeCheck) -> SignInError {
        altered(invalidRequest(check.texts.joined(separator: "; ") + ".")) { $0.attributeProblems = check.problems }
    }

    /// A store that fails has not said "signed out" or "unknown".
    package init(_ error: StorageError) {
        self.init(
            .temporarilyUnavailable, .serverError,
            error.code == .overloaded ? "The server is busy." : "The server cannot use its database.",
            remedy: "Send the same request again in a moment.", retryAfter: error.code == .overloaded ? 1 : 5,
            fault: .ours)
        self.cause = error.reason
    }
}

/// Calls the store; its failure becomes the use case's own error.
package func mappingStoreErrors<Value>(
    _ call: @autoclosure () async throws(StorageError) -> Value
) async throws(SignInError) -> Value {
    try await mappingErrors(awaiting: await call(), to: SignInError.init)
}

/// Asks a provider; its failure becomes the use case's own error.
func mappingProviderErrors<Value>(
    _ call: @autoclosure () async throws(OIDCError) -> Value, discoveryUI: EndpointURL? = nil,
    codeWasPosted: Bool = false
) async throws(SignInError) -> Value {
    try await mappingErrors(awaiting: await call()) { (error: OIDCError) in
        SignInError(error, discoveryUI: discoveryUI, codeWasPosted: codeWasPosted)
    }
}
