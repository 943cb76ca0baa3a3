public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A sign-in by redirects that is under way: open ``url`` (in an `ASWebAuthenticationSession`), and give the callback URL to
/// ``Latchkey/finish(_:callback:)``. It can be encoded, for an app that may be ended meanwhile.
public struct RedirectSignIn: Sendable, Hashable, Codable {
    /// Where the browser goes.
    public let url: URL
    let redirectURI: String
    let codeVerifier: CodeVerifier

    /// The scheme of the callback URL, as `ASWebAuthenticationSession` wants to know it.
    public var callbackScheme: String { String(redirectURI.prefix { $0 != ":" }) }
}

/// What may be asked for at the start of a sign-in by redirects.
public struct RedirectOptions: Sendable, Hashable {
    /// The kind of app, on which the answer of the server does not depend.
    public enum ClientType: String, Sendable, Hashable { case ios, android }

    public var clientType = ClientType.ios
    /// The user's network, where it is known; otherwise the user is asked for the carrier.
    public var mccmnc: String?
    /// Those of the client's configuration, if there are none.
    public var scopes: [String] = []
    public var acrValues: [String] = []
    public var context: String?
    public var prompt: String?
    public var loginHint: String?
    public var correlationID: String?

    public init() {}
}

/// Signing in through a browser: for tablets and computers, and providers without an SDK.
extension Latchkey {
    /// - Parameter redirectURI: One that is registered for the client, such as `com.example.app:/signed-in`.
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
                ("login_hint", options.loginHint), ("correlation_id", options.correlationID),
            ])
        return RedirectSignIn(url: url, redirectURI: redirectURI, codeVerifier: codeVerifier)
    }

    /// Ends a sign-in with the URL that the browser came back with. Another's is worth nothing: the session is given
    /// for the code verifier of ``startRedirect(to:_:)`` only.
    /// - Throws: ``LatchkeyError/Code/foreignCallback`` for a URL that belongs to something else;
    ///   ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration``; why the sign-in failed.
    public func finish(_ signIn: RedirectSignIn, callback: URL) async throws(LatchkeyError) -> Session {
        let text = callback.absoluteString
        guard text.hasPrefix(signIn.redirectURI), ["?", "&"].contains(text.dropFirst(signIn.redirectURI.count).first)
        else { throw .foreignCallback }
        let items = QueryText.items(of: text)
        switch items["status"] {
        case "success":
            guard let sessionID = items["session_id"] else { throw .foreignCallback }
            let fields = ["session_id": sessionID, "code_verifier": signIn.codeVerifier.text]
            return try await session(try await send(request("POST", "/auth/session", fields)))
        case "partial":
            guard let stateKey = items["state_key"] else { throw .foreignCallback }
            var error = LatchkeyError(
                .userNotRegistered, "Nobody is registered under this identity. Register with the missing attributes.",
                kind: .requestDenied)
            let email = items["identifier"].flatMap { $0.isEmpty ? nil : $0 }
            error.registration = RegistrationOffer(
                stateKey: Hidden(stateKey), codeVerifier: signIn.codeVerifier.hidden,
                attributes: Profile(email.map { [.email: $0] } ?? [:]), missing: [],
                expiresAt: nil)
            throw error
        case "failure":
            throw LatchkeyError(
                LatchkeyError.Code(rawValue: items["error"] ?? "unknown_error"), items["message"] ?? "",
                kind: items["error"] == "access_denied" ? .requestDenied : .unknownError)
        default: throw .foreignCallback
        }
    }
}
