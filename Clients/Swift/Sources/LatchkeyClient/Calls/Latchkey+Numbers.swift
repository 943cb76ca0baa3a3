import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The single ways of a sign-in by the phone number that a mobile operator verifies.
extension Latchkey {
    /// Makes a pending sign-in for a browser that uses the cellular network. Sends nothing.
    ///
    /// ``signInByNumber(on:to:phoneNumber:)`` needs no browser.
    /// - Parameters:
    ///   - redirectURI: One of the provider's redirect URIs, such as `com.example.app:/signed-in`.
    ///   - provider: The provider of numbers; nil for that of ``Configuration``.
    public nonisolated func startByNumber(
        to redirectURI: String, at mobileOperator: MobileOperator = MobileOperator(), of provider: String? = nil,
        clientType: RedirectOptions.ClientType = .ios, correlationID: String? = nil
    ) -> RedirectSignIn {
        let codeVerifier = CodeVerifier()
        let url = url(
            "/auth/\(QueryText.encoded(provider ?? configuration.numberProvider))/start",
            [
                ("client_type", clientType.rawValue), ("redirect_uri", redirectURI),
                ("code_challenge", codeVerifier.challenge), ("code_challenge_method", "S256"),
                ("operator", mobileOperator.name), ("mccmnc", mobileOperator.mccmnc),
                ("correlation_id", correlationID),
            ])
        return RedirectSignIn(url: url, redirectURI: redirectURI, codeVerifier: codeVerifier)
    }

    /// Signs the user in with a TS.43 operator token, which the app got from the operator by the SIM, over any network.
    ///
    /// A token works once. The request is not repeated after a lost response: get another token.
    /// - Parameter provider: The provider of numbers; nil for that of ``Configuration``.
    /// - Throws: ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration``;
    ///   ``LatchkeyError/Code/simSwapped`` and the other errors of docs/verified-numbers.md.
    public func signIn(
        withOperatorToken token: String, at mobileOperator: MobileOperator = MobileOperator(),
        of provider: String? = nil
    ) async throws(LatchkeyError) -> Session {
        let fields = mobileOperator.fields.merging(["operator_token": token]) { $1 }
        let path = "/auth/\(QueryText.encoded(provider ?? configuration.numberProvider))/sign-in"
        return try await session(try await send(request("POST", path, fields)))
    }

    /// A visit of an operator that ends at a redirect URI.
    func visit(to redirectURI: String, over network: any CellularNetwork) -> AuthorizationVisit {
        AuthorizationVisit(
            network: network, redirectURI: redirectURI, allowsLoopbackHTTP: configuration.isOnThisMachine,
            timeLimit: configuration.cellularTimeLimit)
    }

    /// Where the operator authenticates the phone. The server is asked over any network, and says what is wrong.
    nonisolated func authorizationURL(of pending: RedirectSignIn) async throws(LatchkeyError) -> URL {
        struct Started: Decodable {
            let location: String
        }
        var request = URLRequest(url: pending.url)
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        let started = try await send(request).checked(now: pace.now()).decoded(Started.self)
        guard let url = URL(string: started.location) else { throw .malformed }
        return url
    }
}

extension Latchkey.Configuration {
    /// Whether the server is a simulated one on this machine, without TLS.
    var isOnThisMachine: Bool {
        baseURL.scheme?.lowercased() == "http"
            && ["127.0.0.1", "localhost", "::1"].contains(baseURL.host?.lowercased() ?? "")
    }
}
