public import Foundation

/// A pending sign-in by redirects: open ``url`` (in an `ASWebAuthenticationSession`) and pass the callback URL to
/// ``Latchkey/finish(_:callback:)->Session``. It can be encoded, because the system may end the app meanwhile.
public struct RedirectSignIn: Sendable, Hashable, Codable {
    /// The URL for the browser.
    public let url: URL
    let redirectURI: String
    let codeVerifier: CodeVerifier

    /// The scheme of the callback URL, for `ASWebAuthenticationSession`.
    public var callbackScheme: String { String(redirectURI.prefix { $0 != ":" }) }
}

/// The parameters of a sign-in by redirects.
public struct RedirectOptions: Sendable, Hashable {
    /// The kind of app. The server's response does not depend on it.
    public enum ClientType: String, Sendable, Hashable { case ios, android }

    /// The `client_type`.
    public var clientType = ClientType.ios
    /// The user's network code; nil lets the user choose the carrier.
    public var mccmnc: String?
    /// The requested scopes; empty for those of the client's configuration.
    public var scopes: [String] = []
    /// The requested levels of assurance.
    public var acrValues: [String] = []
    /// The text that the user approves.
    public var context: String?
    /// The `prompt` of OpenID Connect Core section 3.1.2.1.
    public var prompt: String?
    /// How long ago the user may have authenticated, in seconds; nil for any time.
    public var maxAge: Int?
    /// The user's phone number or subject, if known.
    public var loginHint: String?
    /// An identifier for the carrier's and the server's logs.
    public var correlationID: String?

    /// The server's defaults.
    public init() {}
}

/// Sign-in through a browser: for tablets and computers, and providers without an SDK.
extension Latchkey {
    /// Makes a pending sign-in. Sends nothing.
    /// - Parameter redirectURI: A redirect URI registered for the client, such as `com.example.app:/signed-in`.
    public nonisolated func startRedirect(
        to redirectURI: String, _ options: RedirectOptions = RedirectOptions()
    ) -> RedirectSignIn {
        let codeVerifier = CodeVerifier()
        let url = url(
            "/auth/\(QueryText.encoded(configuration.provider))/start",
            [
                ("client_type", options.clientType.rawValue), ("client_id", configuration.clientID),
                ("redirect_uri", redirectURI), ("code_challenge", codeVerifier.challenge),
                ("code_challenge_method", "S256"), ("mccmnc", options.mccmnc), ("scope", options.scopes.words),
                ("acr_values", options.acrValues.words), ("context", options.context), ("prompt", options.prompt),
                ("max_age", options.maxAge.map(String.init)), ("login_hint", options.loginHint),
                ("correlation_id", options.correlationID),
            ])
        return RedirectSignIn(url: url, redirectURI: redirectURI, codeVerifier: codeVerifier)
    }

    /// Completes a sign-in with its callback URL. A stolen URL is useless, because the server requires the code
    /// verifier of ``startRedirect(to:_:)``.
    /// - Throws: ``LatchkeyError/Code/foreignCallback`` for another URL; ``LatchkeyError/Code/userNotRegistered`` with
    ///   a ``LatchkeyError/registration``; the error of the sign-in.
    public func finish(_ signIn: RedirectSignIn, callback: URL) async throws(LatchkeyError) -> Session {
        let items = try QueryText.items(of: callback, to: signIn.redirectURI)
        switch items["status"] {
        case "success":
            guard let sessionID = items["session_id"] else { throw .foreignCallback }
            let fields = ["session_id": sessionID, "code_verifier": signIn.codeVerifier.text]
            return try await session(try await send(request("POST", "/auth/session", fields)))
        case "partial":
            guard let stateKey = items["state_key"] else { throw .foreignCallback }
            var error = LatchkeyError(
                .userNotRegistered, "The user is not registered. Register with the missing attributes.",
                kind: .requestDenied)
            let email = items["identifier"].flatMap { $0.isEmpty ? nil : $0 }
            error.registration = RegistrationOffer(
                stateKey: Hidden(stateKey), codeVerifier: signIn.codeVerifier.hidden,
                attributes: Profile(email.map { [.email: $0] } ?? [:]), missing: [], expiresAt: nil)
            throw error
        case "failure": throw .ofCallback(items)
        default: throw .foreignCallback
        }
    }
}

extension LatchkeyError {
    /// The error in a callback URL.
    static func ofCallback(_ items: [String: String]) -> LatchkeyError {
        var error = LatchkeyError(
            Code(rawValue: items["error"] ?? "unknown_error"), items["error_description"] ?? "",
            kind: items["error"] == "access_denied" ? .requestDenied : .unknownError)
        error.userMessage = items["message"]
        return error
    }
}
