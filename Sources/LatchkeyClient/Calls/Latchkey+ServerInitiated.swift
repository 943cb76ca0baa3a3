public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A sign-in that the carrier asks the user for on their phone, wherever the app runs.
public struct PhoneSignIn: Sendable, Hashable, Codable {
    let handle: Hidden
    /// Until when the user may answer, by the clock of this device.
    public let expiresAt: Date
}

/// What may be asked for with a sign-in on the phone.
public struct PhoneSignInOptions: Sendable, Hashable {
    public var scopes = ["openid"]
    public var acrValues: [String] = []
    /// What the user reads on the phone.
    public var context: String?
    public var correlationID: String?

    public init() {}
}

/// Server-initiated sign-in: for devices without a browser, or without the user's SIM card.
extension Latchkey {
    /// Has the carrier ask the user.
    /// - Parameter loginHint: The user's phone number, with `+` and country code.
    public func askOnPhone(
        _ loginHint: String, mccmnc: String, redirectURI: String, _ options: PhoneSignInOptions = PhoneSignInOptions()
    ) async throws(LatchkeyError) -> PhoneSignIn {
        var fields: [String: String] = [
            "login_hint": loginHint, "client_id": configuration.clientID, "mccmnc": mccmnc,
            "redirect_uri": redirectURI, "scope": options.scopes.joined(separator: " "),
        ]
        fields["acr_values"] = options.acrValues.words
        fields["context"] = options.context
        fields["correlation_id"] = options.correlationID
        return try await started(request("POST", Self.path, fields))
    }

    /// Has the carrier ask the user once more; the former request is over.
    public func askAgain(_ signIn: PhoneSignIn) async throws(LatchkeyError) -> PhoneSignIn {
        try await started(request("POST", Self.path(signIn)))
    }

    /// The session, once the user has approved; nil while they have not answered.
    /// - Throws: ``LatchkeyError/Code/accessDenied`` if they said no, ``LatchkeyError/Code/expired``,
    ///   ``LatchkeyError/Code/rateLimited`` if it is asked more than once a second.
    public func poll(_ signIn: PhoneSignIn) async throws(LatchkeyError) -> Session? {
        struct Waiting: Decodable { let authReqId: String }
        // 302 is what the published example API answers.
        let answer = try await send(request("GET", Self.path(signIn))).checked(or: [302], now: pace.now())
        if (try? answer.decoded(Waiting.self)) != nil { return nil }
        return try await session(answer, or: [302])
    }

    /// Waits until the user has answered. An answer of the server's that is lost, or that asks for patience, is not the end.
    /// - Parameter interval: Seconds from one poll to the next.
    /// - Throws: As ``poll(_:)``.
    public func waitForApproval(_ signIn: PhoneSignIn, every interval: TimeInterval = 2) async throws(LatchkeyError)
        -> Session
    {
        while true {
            var delay = max(1, interval)
            do throws(LatchkeyError) {
                if let session = try await poll(signIn) { return session }
            } catch {
                guard error.isPassing, pace.now() < signIn.expiresAt.addingTimeInterval(Self.retryWindow) else {
                    throw error
                }
                delay = max(delay, error.retryAfter ?? 0)
            }
            do { try await pace.sleep(delay) } catch { throw .wasCancelled }
        }
    }

    /// The user need not answer any more.
    public func cancel(_ signIn: PhoneSignIn) async throws(LatchkeyError) {
        _ = try await send(request("DELETE", Self.path(signIn))).checked(now: pace.now())
    }

    private static let path = "/auth/zenkey-async-signin"

    private static func path(_ signIn: PhoneSignIn) -> String {
        path + "/" + QueryText.encoded(signIn.handle.text)
    }

    private func started(_ request: URLRequest) async throws(LatchkeyError) -> PhoneSignIn {
        struct Started: Decodable {
            let authReqId: String
            let expiresIn: Double
        }
        let started = try await send(request).checked(now: pace.now()).decoded(Started.self)
        return PhoneSignIn(
            handle: Hidden(started.authReqId), expiresAt: pace.now().addingTimeInterval(started.expiresIn))
    }
}

extension LatchkeyError {
    fileprivate var isPassing: Bool {
        code == .networkFailure || code == .rateLimited || code == .temporarilyUnavailable
    }
}
