import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sign-in and verification by the number of this phone, in the ways that the server names for it, one after the other.
extension Latchkey {
    /// The ways of a phone to sign in by its number, in the order to try, and the other providers.
    /// - Parameter phoneNumber: With `+` and country code; sent only for a phone that does not know its network.
    public nonisolated func numberMethods(
        for phone: Phone, phoneNumber: String? = nil
    ) async throws(LatchkeyError) -> NumberMethods {
        let query = [
            ("platform", "ios"), ("mccmnc", phone.mccmnc), ("phone_number", phone.mccmnc == nil ? phoneNumber : nil),
        ]
        var request = URLRequest(url: url("/auth/number/methods", query))
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        return try await send(request).checked(now: pace.now()).decoded(NumberMethods.self, .useDefaultKeys)
    }

    /// Signs the user in by the phone number of this phone, without a page.
    ///
    /// The server names the ways. The next one is tried after a refusal of the phone or of an operator. Only the pages
    /// of an operator are requested over the cellular network, and with its redirect the callback of the server.
    /// - Parameters:
    ///   - redirectURI: One of the provider's redirect URIs. It is not opened.
    ///   - phoneNumber: The number that the user has typed, with `+` and country code, if the phone does not know its
    ///     network. It only chooses the operator.
    /// - Returns: ``NumberSignIn/otherWay(_:providers:)`` if the number is no way to sign in now; without providers if
    ///   the server cannot tell the ways.
    /// - Throws: ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration``; an error that another
    ///   way would have, too, such as ``LatchkeyError/Code/networkFailure``.
    public func signInByNumber(
        on phone: Phone, to redirectURI: String, phoneNumber: String? = nil
    ) async throws(LatchkeyError) -> NumberSignIn {
        let ways: NumberMethods
        do throws(LatchkeyError) {
            ways = try await numberMethods(for: phone, phoneNumber: phoneNumber)
        } catch {
            // Telco Finder or the database cannot tell.
            guard error.code.leavesNextMethod else { throw error }
            return .otherWay(error, providers: [])
        }
        var reason = ways.methods.isEmpty ? LatchkeyError.noNumberMethod : .phoneRefused
        for method in ways.methods {
            do throws(LatchkeyError) {
                guard let session = try await signIn(by: method, on: phone, to: redirectURI) else { continue }
                return .signedIn(session, by: method.kind)
            } catch {
                reason = error
                if error.code.leavesNextMethod { continue }
                guard error.code.leavesProviders else { throw error }
                break
            }
        }
        return .otherWay(reason, providers: ways.fallback)
    }

    /// Asks whether this phone has a number, without a page. If it has, the number is the user's, verified.
    ///
    /// The ways are tried as in ``signInByNumber(on:to:phoneNumber:)``.
    /// - Parameters:
    ///   - number: With `+` and country code; nil for the number of the profile.
    ///   - redirectURI: One of the provider's redirect URIs. It is not opened.
    /// - Returns: The outcome of the last way that had one.
    /// - Throws: The error of the last way, if none had an outcome.
    public func verifyPhoneNumber(
        _ number: String? = nil, on phone: Phone, to redirectURI: String
    ) async throws(LatchkeyError) -> PhoneVerification {
        let ways = try await numberMethods(for: phone, phoneNumber: number)
        var outcome: PhoneVerification?
        var reason = ways.methods.isEmpty ? LatchkeyError.noNumberMethod : .phoneRefused
        for method in ways.methods {
            do throws(LatchkeyError) {
                guard let verification = try await verify(number, by: method, on: phone, to: redirectURI)
                else { continue }
                guard let error = verification.error, error.leavesNextMethod else { return verification }
                outcome = verification
            } catch {
                guard error.code.leavesNextMethod else { throw error }
                reason = error
            }
        }
        guard let outcome else { throw reason }
        return outcome
    }

    /// - Returns: Nil if the phone refuses.
    private func signIn(
        by method: NumberMethod, on phone: Phone, to redirectURI: String
    ) async throws(LatchkeyError) -> Session? {
        let mobileOperator = method.mobileOperator(of: phone)
        switch method.kind {
        case .digitalCredential:
            guard method.isPossible(on: phone) else { return nil }
            let path = "/auth/\(QueryText.encoded(method.provider))/start"
            let fields = mobileOperator.fields.merging(method.credentialFields(redirectURI)) { $1 }
            let started = try await send(request("POST", path, fields)).checked(now: pace.now())
            guard let proof = try await proof(asked: started, of: phone, to: redirectURI) else { return nil }
            let confirmation = "\(path)/\(QueryText.encoded(proof.id))/confirmation"
            return try await session(try await send(request("POST", confirmation, json: proof.json)))
        case .operatorToken:
            guard let token = try await operatorToken(of: phone, at: mobileOperator) else { return nil }
            return try await signIn(withOperatorToken: token, at: mobileOperator, of: method.provider)
        case .redirect:
            guard let network = phone.cellular else { return nil }
            let pending = startByNumber(to: redirectURI, at: mobileOperator, of: method.provider)
            let url = try await authorizationURL(of: pending)
            let callback = try await visit(to: redirectURI, over: network).callback(from: url)
            return try await finish(pending, callback: callback)
        }
    }

    /// - Returns: Nil if the phone refuses.
    private func verify(
        _ number: String?, by method: NumberMethod, on phone: Phone, to redirectURI: String
    ) async throws(LatchkeyError) -> PhoneVerification? {
        let mobileOperator = method.mobileOperator(of: phone)
        switch method.kind {
        case .digitalCredential:
            guard method.isPossible(on: phone) else { return nil }
            let fields = verificationFields(
                number, mobileOperator, method.provider, method.credentialFields(redirectURI))
            let started = try await asUser(request("POST", Self.verificationsPath, fields)).checked(now: pace.now())
            guard let proof = try await proof(asked: started, of: phone, to: redirectURI) else { return nil }
            return try await verification(request("POST", Self.confirmationPath(of: proof.id), json: proof.json))
        case .operatorToken:
            guard let token = try await operatorToken(of: phone, at: mobileOperator) else { return nil }
            return try await verifyPhoneNumber(number, operatorToken: token, at: mobileOperator, of: method.provider)
        case .redirect:
            guard let network = phone.cellular else { return nil }
            let pending = try await startVerification(
                of: number, to: redirectURI, at: mobileOperator, of: method.provider)
            let callback = try await visit(to: redirectURI, over: network).callback(from: pending.url)
            return try await finish(pending, callback: callback)
        }
    }
}

/// What the phone does.
extension Latchkey {
    private nonisolated func operatorToken(
        of phone: Phone, at mobileOperator: MobileOperator
    ) async throws(LatchkeyError) -> String? {
        guard let operatorToken = phone.operatorToken else { return nil }
        do { return try await operatorToken(mobileOperator) } catch { return try Self.refusal(error) }
    }

    /// What ends a started sign-in or verification: the credential that the server asked for, or the code of a link
    /// that was visited over the cellular network.
    /// - Returns: Nil if the phone refuses.
    private nonisolated func proof(
        asked started: ServerResponse, of phone: Phone, to redirectURI: String
    ) async throws(LatchkeyError) -> (id: String, json: String)? {
        // The request is passed on as it is, whatever its members.
        guard let members = (try? JSONSerialization.jsonObject(with: started.data)) as? [String: Any],
            let id = (members["sign_in_id"] ?? members["verification_id"]) as? String
        else { throw .malformed }
        if let link = members["authorization_url"] as? String, let url = URL(string: link) {
            guard let network = phone.cellular else { return nil }
            let callback = try await visit(to: redirectURI, over: network).callback(from: url)
            guard let code = try QueryText.items(of: callback, to: redirectURI)["code"] else { throw .noCode }
            return (id, Self.json(["code": code]))
        }
        guard let request = members["request"] as? [String: Any] else { throw .malformed }
        guard let digitalCredential = phone.digitalCredential else { return nil }
        do {
            return try await digitalCredential(DigitalCredentialRequest(json: Self.json(request))).map {
                (id, $0.json.rawValue)
            }
        } catch {
            return try Self.refusal(error)
        }
    }

    /// What a function of the phone throws is a refusal, unless the call was cancelled.
    private static func refusal<Value>(_ error: any Error) throws(LatchkeyError) -> Value? {
        if error is CancellationError { throw .wasCancelled }
        return nil
    }

    private static func json(_ members: [String: Any]) -> String {
        let data = try? JSONSerialization.data(
            withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data ?? Data(), as: UTF8.self)
    }
}

extension NumberMethod {
    private var needsMobileData: Bool { requirement == "mobile_data" }

    /// Whether the phone has what a digital credential needs.
    fileprivate func isPossible(on phone: Phone) -> Bool {
        needsMobileData ? phone.cellular != nil : phone.digitalCredential != nil
    }

    /// The fields that ask for a digital credential, or for a link that ends at a redirect URI.
    fileprivate func credentialFields(_ redirectURI: String) -> [String: String?] {
        let fields: [String: String?] = ["method": kind.rawValue]
        return needsMobileData ? fields.merging(["redirect_uri": redirectURI]) { $1 } : fields
    }

    fileprivate func mobileOperator(of phone: Phone) -> MobileOperator {
        MobileOperator(name: mobileOperator, mccmnc: phone.mccmnc)
    }
}

extension LatchkeyError.Code {
    /// Whether a phone or an operator refused, so that another method may succeed.
    fileprivate var leavesNextMethod: Bool { Self.ofPhonesAndOperators.contains(self) }

    /// Whether the refusal is about the user, so that no method by number is left.
    fileprivate var leavesProviders: Bool { [.simSwapped, .accessDenied, .userAlreadyExists].contains(self) }

    private static let ofPhonesAndOperators: Set<Self> = [
        .notOnMobileNetwork, .cellularUnavailable, .authorizationStopped, .operatorUnknown, .consentRequired,
        .invalidGrant, .temporarilyUnavailable, .credentialInvalid, "carrier_error", "carrier_timeout",
        "aggregator_error", "issuer_mismatch", "request_denied", "invalid_id_token",
    ]
}

extension LatchkeyError {
    fileprivate static let noNumberMethod = LatchkeyError(
        .operatorUnknown, "The server has no way for this phone to prove its number.", kind: .requestDenied)
    fileprivate static let noCode = LatchkeyError(
        .authorizationStopped, "The operator did not recognise the phone at the link.", kind: .requestDenied)
    fileprivate static let phoneRefused = LatchkeyError(
        .phoneRefused, "The phone has no way to prove its number, or refused.", kind: .requestDenied)
}
