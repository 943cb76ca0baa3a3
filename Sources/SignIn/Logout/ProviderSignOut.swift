import Logging
import OpenIDConnect
public import Primitives

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
    let oneTimeStore: EncryptedOneTimeStore
    let clock: WallClock
    let random: RandomSource
    let logger: Logger

    /// The way out by a provider, found before any session has ended.
    public struct Exit: Sendable {
        let provider: String
        let clientID: ClientID
        let redirectURI: String
        let relyingParty: RelyingParty
    }

    /// Finds the way out that a user asks for.
    /// - Parameters:
    ///   - clientID: The client of the session that ends; nil for a page whose session is not known any more.
    ///   - redirectURI: Where the browser ends up: one of the client's registered ones, or of any client of the provider's
    ///     where the client is not known.
    /// - Throws: `not_found` for an unknown provider; `invalid_request` for a session of none of its clients, and for a
    ///   redirect URI that is not registered.
    public func exit(
        by name: String, ofClient clientID: String?, to redirectURI: String
    ) throws(SignInError) -> Exit {
        guard let provider = configuration.providers[name], let relyingParty = relyingParties[name] else {
            throw .unknownProvider
        }
        let clients = provider.clients.filter { clientID == nil || $0.key.text == clientID }
        guard !clients.isEmpty else { throw .notOfThisProvider }
        let found = clients.filter { $0.value.mayReceiveBrowsers(at: redirectURI) }
        guard let id = found.keys.min(by: { $0.text < $1.text }) else { throw .redirectURINotRegistered }
        return Exit(provider: name, clientID: id, redirectURI: redirectURI, relyingParty: relyingParty)
    }

    /// Where the browser goes, once the user is signed out here: to the provider, or to the redirect URI at once if the
    /// provider has no place for it or cannot be asked.
    /// - Parameter returnURL: This server's own place for the provider to come back to.
    public func location(of exit: Exit, returnURL: String) async -> String {
        let state = Secret(random.token())
        let correlationID = CorrelationID.random(from: random)
        do throws(OIDCError) {
            guard
                let url = try await exit.relyingParty.endSessionURL(
                    clientID: exit.clientID, returnURL: returnURL, state: state, correlationID: correlationID)
            else { return Self.end(at: exit.redirectURI) }
            let note = Array((exit.provider + "\n" + exit.redirectURI).utf8)
            guard (try? await oneTimeStore.keep(note, for: .signOut, under: state, seconds: Self.lifetime)) != nil
            else {
                return Self.end(at: exit.redirectURI)
            }
            return url.text
        } catch {
            logger.warning(
                "a provider could not be asked to end its session",
                metadata: [
                    "provider": "\(exit.provider)", "correlation_id": "\(correlationID)", "reason": "\(error.code)",
                ])
            return Self.end(at: exit.redirectURI)
        }
    }

    /// Where the browser that comes back from the provider goes; nil if it brings no state of ours, and then it is told on a
    /// page that the user is signed out.
    /// - Throws: `temporarily_unavailable`.
    public func finish(at name: String, state: Secret?) async throws(SignInError) -> String? {
        guard let state, let bytes = try await oneTimeStore.take(.signOut, under: state) else { return nil }
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
