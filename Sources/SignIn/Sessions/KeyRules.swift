import OpenIDConnect
import Primitives
import StorageModel

/// The clients whose tokens are bound to keys of apps (DPoP, RFC 9449). A bound token has its key in front
/// (`SessionTokenFormat`). A request with such a token must have a proof of that key, which a feature verifies.
struct KeyRules: Sendable {
    /// The clients whose tokens are or may be bound. For one of several providers, the strictest value holds.
    private let rules: [String: SignInConfiguration.BoundTokens]
    /// Empty on most servers, whose sessions are not asked for a key then.
    private let requiring: Set<String>

    init(_ providers: Providers) {
        let bound = providers.all.flatMap(\.allClients).filter { $0.rules.boundTokens != .off }
        rules = Dictionary(bound.map { ($0.id.text, $0.rules.boundTokens) }) { $0 == .required ? $0 : $1 }
        requiring = Set(rules.filter { $0.value == .required }.keys)
    }

    var isEmpty: Bool { rules.isEmpty }

    func of(_ clientID: String) -> SignInConfiguration.BoundTokens { rules[clientID] ?? .off }

    /// Nil in the place of a session whose client requires bound tokens, unless its token is one.
    func admitted(_ found: SessionAndUser?, _ isBound: Bool) -> SessionAndUser? {
        guard !requiring.isEmpty, !isBound, let found, requiring.contains(found.session.clientID) else { return found }
        return nil
    }

    /// The key of the tokens that replace a refresh token: the key of that one, or the caller's.
    /// - Throws: `invalid_dpop_proof` if there must be one.
    func key(
        for session: Session, of shown: PresentedRefreshToken, _ request: RefreshRequest
    ) throws(SignInError) -> String? {
        if let key = shown.key { return key }
        switch of(session.clientID) {
        case .off: return nil
        case .optional: return request.key
        case .required:
            guard let key = request.key else { throw .keyNotProved }
            return key
        }
    }
}

extension UseCases {
    /// - Throws: `invalid_dpop_proof` if a client's tokens must be bound, and the caller has proved no key.
    package func check(key: String?, for clientID: String) throws(SignInError) {
        guard key != nil || sessions.keyRules.of(clientID) != .required else { throw .keyNotProved }
    }

    /// A new session as its app gets it, with tokens that are bound to the key that the caller has proved, if its
    /// client has such. They replace the tokens that the sign-in was stored with, so that a request that is sent again
    /// with the same key gets the same ones, and nothing with another key.
    /// - Throws: `invalid_dpop_proof` without a key that there must be, and then the session ends; as
    ///   ``Sessions/given(_:)``.
    package func given(_ signedIn: SignedIn, to caller: Caller, key: String?) async throws(SignInError) -> SignedIn {
        guard !sessions.keyRules.isEmpty, signedIn.tokens.key == nil else { return try await sessions.given(signedIn) }
        let (token, refreshToken) = (signedIn.tokens.token, signedIn.tokens.refreshToken)
        var holder = try await sessions.holder(under: TokenHash(ofSessionToken: token.exposed))
        if holder == nil { holder = try await sessions.authenticate(refreshToken: refreshToken, orBound: true) }
        switch holder.map({ sessions.keyRules.of($0.session.clientID) }) {
        case nil, .off: return try await sessions.given(signedIn)
        case .optional where key == nil: return try await sessions.given(signedIn)
        case .required where key == nil:
            try await sessions.revoke(refreshToken, requestID: signedIn.correlationID.text)
            throw .keyNotProved
        case .optional, .required: break
        }
        var exchange = RefreshRequest(refreshToken: refreshToken, caller: caller)
        (exchange.key, exchange.correlationID) = (key, signedIn.correlationID)
        let tokens = try await refresh(exchange).tokens
        return try await sessions.given(altered(signedIn) { $0.tokens = tokens })
    }
}
