public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A pending sign-in that the user approves on their phone.
public struct PhoneSignIn: Sendable, Hashable, Codable {
    let handle: Hidden
    /// When the request expires, by the clock of this device.
    public let expiresAt: Date
}

/// The parameters of a sign-in on the phone.
public struct PhoneSignInOptions: Sendable, Hashable {
    /// The requested scopes.
    public var scopes = ["openid"]
    /// The requested levels of assurance.
    public var acrValues: [String] = []
    /// The text that the user approves.
    public var context: String?
    /// An identifier for the carrier's and the server's logs.
    public var correlationID: String?

    /// The scope `openid` and the carrier's defaults.
    public init() {}
}

/// Backchannel authentication (ZenKey's server-initiated sign-in): for devices without a browser or without the user's
/// SIM card.
extension Latchkey {
    /// Starts a sign-in: the carrier asks the user on their phone.
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

    /// Asks the user again. The former request ends.
    public func askAgain(_ signIn: PhoneSignIn) async throws(LatchkeyError) -> PhoneSignIn {
        try await started(request("POST", Self.path(signIn)))
    }

    /// Polls a sign-in.
    /// - Returns: The session after the user's approval; nil before their decision.
    /// - Throws: ``LatchkeyError/Code/accessDenied`` if the user denied it, ``LatchkeyError/Code/expired``,
    ///   ``LatchkeyError/Code/rateLimited`` for more than one poll a second.
    public func poll(_ signIn: PhoneSignIn) async throws(LatchkeyError) -> Session? {
        struct Waiting: Decodable {
            let authReqId: String
            /// Present once the user has approved.
            let token: String?
        }
        // The published example API responds with 302.
        let response = try await send(request("GET", Self.path(signIn))).checked(or: [302], now: pace.now())
        if let waiting = try? response.decoded(Waiting.self), waiting.token == nil { return nil }
        return try await session(response, or: [302])
    }

    /// Polls until the user decides. Lost responses and temporary errors are retried.
    /// - Parameter interval: The seconds between polls.
    /// - Throws: The same errors as ``poll(_:)``.
    public func waitForApproval(_ signIn: PhoneSignIn, every interval: TimeInterval = 2) async throws(LatchkeyError)
        -> Session
    {
        while true {
            var delay = max(1, interval)
            do throws(LatchkeyError) {
                if let session = try await poll(signIn) { return session }
            } catch {
                guard error.isTemporary, pace.now() < signIn.expiresAt.addingTimeInterval(Self.retryWindow) else {
                    throw error
                }
                delay = max(delay, error.retryAfter ?? 0)
            }
            do { try await pace.sleep(delay) } catch { throw .wasCancelled }
        }
    }

    /// Cancels a sign-in.
    public func cancel(_ signIn: PhoneSignIn) async throws(LatchkeyError) {
        _ = try await send(request("DELETE", Self.path(signIn))).checked(now: pace.now())
    }

    private static let path = "/auth/zenkey-async-signin"

    private static func path(_ signIn: PhoneSignIn) -> String {
        path + "/" + QueryText.encoded(signIn.handle.rawValue)
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
    fileprivate var isTemporary: Bool {
        code == .networkFailure || code == .rateLimited || code == .temporarilyUnavailable
    }
}
