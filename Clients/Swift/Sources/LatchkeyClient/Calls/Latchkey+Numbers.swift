import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sign-in by the phone number that a mobile operator verifies, without a code by text message.
extension Latchkey {
    /// Makes a pending sign-in for a browser that uses the cellular network. Sends nothing.
    ///
    /// ``signInByNumber(to:at:over:operatorToken:)`` needs no browser.
    /// - Parameter redirectURI: One of the provider's redirect URIs, such as `com.example.app:/signed-in`.
    public nonisolated func startByNumber(
        to redirectURI: String, at mobileOperator: MobileOperator = MobileOperator(),
        clientType: RedirectOptions.ClientType = .ios, correlationID: String? = nil
    ) -> RedirectSignIn {
        let codeVerifier = CodeVerifier()
        let url = url(
            "/auth/\(QueryText.encoded(configuration.numberProvider))/start",
            [
                ("client_type", clientType.rawValue), ("redirect_uri", redirectURI),
                ("code_challenge", codeVerifier.challenge), ("code_challenge_method", "S256"),
                ("operator", mobileOperator.name), ("mccmnc", mobileOperator.mccmnc),
                ("correlation_id", correlationID),
            ])
        return RedirectSignIn(url: url, redirectURI: redirectURI, codeVerifier: codeVerifier)
    }

    /// Signs the user in by the phone number of this device, without a page.
    ///
    /// The operator recognises the phone by its connection over `network`. If it does not, and `operatorToken` returns
    /// a token, the operator recognises the SIM. Only the operator's pages are requested over `network`, and with the
    /// redirect of the operator the callback of the server.
    /// - Parameters:
    ///   - redirectURI: One of the provider's redirect URIs. It is not opened.
    ///   - operatorToken: Gets a TS.43 operator token from the operator; nil if it cannot.
    /// - Returns: ``NumberSignIn/otherWay(_:)`` if the number is no way to sign in now.
    /// - Throws: ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration``; an error that another
    ///   way would have, too, such as ``LatchkeyError/Code/networkFailure``.
    public func signInByNumber(
        to redirectURI: String, at mobileOperator: MobileOperator = MobileOperator(),
        over network: any CellularNetwork, operatorToken: (@Sendable () async -> String?)? = nil
    ) async throws(LatchkeyError) -> NumberSignIn {
        let refusal: LatchkeyError
        do throws(LatchkeyError) {
            let pending = startByNumber(to: redirectURI, at: mobileOperator)
            let visit = visit(to: redirectURI, over: network)
            let callback = try await visit.callback(from: try await authorizationURL(of: pending))
            return .signedIn(try await finish(pending, callback: callback), by: .network)
        } catch {
            guard error.leavesOtherWays else { throw error }
            refusal = error
        }
        guard refusal.leavesSIM, let token = await operatorToken?() else { return .otherWay(refusal) }
        do throws(LatchkeyError) {
            return .signedIn(try await signIn(withOperatorToken: token, at: mobileOperator), by: .sim)
        } catch {
            guard error.leavesOtherWays else { throw error }
            return .otherWay(error)
        }
    }

    /// Signs the user in with a TS.43 operator token, which the app got from the operator by the SIM, over any network.
    ///
    /// A token works once. The request is not repeated after a lost response: get another token.
    /// - Throws: ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration``;
    ///   ``LatchkeyError/Code/simSwapped`` and the other errors of docs/verified-numbers.md.
    public func signIn(
        withOperatorToken token: String, at mobileOperator: MobileOperator = MobileOperator()
    ) async throws(LatchkeyError) -> Session {
        var fields: [String: String?] = ["operator_token": token]
        for (name, value) in mobileOperator.fields { fields[name] = value }
        let path = "/auth/\(QueryText.encoded(configuration.numberProvider))/sign-in"
        return try await session(try await send(request("POST", path, fields)))
    }

    /// A visit of an operator that ends at a redirect URI.
    func visit(to redirectURI: String, over network: any CellularNetwork) -> AuthorizationVisit {
        AuthorizationVisit(
            network: network, redirectURI: redirectURI, allowsLoopbackHTTP: configuration.isOnThisMachine,
            timeLimit: configuration.cellularTimeLimit)
    }

    /// Where the operator authenticates the phone. The server is asked over any network, and says what is wrong.
    private nonisolated func authorizationURL(of pending: RedirectSignIn) async throws(LatchkeyError) -> URL {
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

extension LatchkeyError {
    /// Whether another way may sign the user in.
    fileprivate var leavesOtherWays: Bool { leavesSIM || Self.ofOperators.contains(code) }

    /// Whether only the network did not recognise the phone.
    var leavesSIM: Bool {
        [.notOnMobileNetwork, .cellularUnavailable, .authorizationStopped].contains(code)
    }

    private static let ofOperators: Set<Code> = [
        .simSwapped, .operatorUnknown, .consentRequired, .accessDenied, .invalidGrant, .temporarilyUnavailable,
        "carrier_error", "carrier_timeout", "issuer_mismatch",
    ]
}

extension Latchkey.Configuration {
    /// Whether the server is a simulated one on this machine, without TLS.
    var isOnThisMachine: Bool {
        baseURL.scheme?.lowercased() == "http"
            && ["127.0.0.1", "localhost", "::1"].contains(baseURL.host?.lowercased() ?? "")
    }
}
