import Logging
import OpenIDConnect
public import Primitives
public import Storage

/// Signs a user out here, and then at the provider as well, where the provider has a place for that (OpenID Connect
/// RP-Initiated Logout 1.0).
///
/// The provider is told which client asks (`client_id`), and no `id_token_hint`: that would have us keep ID tokens, which
/// are full of personal data, for as long as sessions last. A provider may ask its user before it ends its session.
public struct ProviderSignOut: Sendable {
    /// How long a browser may be at the provider, in seconds.
    public static let lifetime: Int64 = 600

    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let sessions: Sessions
    let notes: SealedNotes
    let clock: WallClock
    let random: RandomSource
    let logger: Logger

    /// Ends the session of a token, and says where the browser goes: to the provider, or to `redirectURI` at once if the
    /// provider has no place for it or cannot be asked. The user is signed out here in any case.
    /// - Parameters:
    ///   - redirectURI: Where the browser ends up; one of the registered ones of the session's client.
    ///   - returnURL: This server's own place for the provider to come back to.
    /// - Throws: `not_found` for an unknown provider; `invalid_request` for a redirect URI that is not registered, and then
    ///   the session goes on; `temporarily_unavailable`.
    public func callAsFunction(
        at name: String, token: Secret, holder: SessionAndUser, redirectURI: String, returnURL: String
    ) async throws(SignInError) -> String {
        guard let provider = configuration.providers[name], let relyingParty = relyingParties[name] else {
            throw .unknownProvider
        }
        guard let clientID = ClientID(holder.session.clientID), let client = provider.clients[clientID] else {
            throw .notOfThisProvider
        }
        guard AppRedirectURI.isRegistered(redirectURI, among: client.redirectURIs) else {
            throw .redirectURINotRegistered
        }
        try await sessions.signOut(token)
        let state = Secret(random.token())
        let correlationID = CorrelationID.random(from: random)
        do throws(OIDCError) {
            guard
                let url = try await relyingParty.endSessionURL(
                    clientID: clientID, returnURL: returnURL, state: state, correlationID: correlationID)
            else { return Self.end(at: redirectURI) }
            let note = Array((name + "\n" + redirectURI).utf8)
            guard (try? await notes.keep(note, for: .signOut, under: state, seconds: Self.lifetime)) != nil else {
                return Self.end(at: redirectURI)
            }
            return url.text
        } catch {
            logger.warning(
                "a provider could not be asked to end its session",
                metadata: ["provider": "\(name)", "correlation_id": "\(correlationID)", "reason": "\(error.code)"])
            return Self.end(at: redirectURI)
        }
    }

    /// Where the browser that comes back from the provider goes; nil if it brings no state of ours, and then it is told on a
    /// page that the user is signed out.
    public func finish(at name: String, state: Secret?) async throws(SignInError) -> String? {
        guard let state, let bytes = try await notes.take(.signOut, under: state) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        guard lines.count == 2, String(lines[0]).hasSameBytes(as: name) else { return nil }
        return Self.end(at: String(lines[1]))
    }

    private static func end(at redirectURI: String) -> String {
        AppRedirectURI.appending([("action", "logout"), ("status", "success")], to: redirectURI)
    }
}

extension SignInError {
    static let notOfThisProvider = SignInError(
        .invalidRequest, .invalidRequest,
        "The session is not of a client of this provider. Name the provider that the user signed in with.")
}
