import LatchkeyAPI
package import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
package import Primitives
package import SignIn
package import StorageModel
import Synchronization

/// Session tokens that services verify without a request: JWTs (RFC 9068), signed by a key of `/.well-known/jwks.json`.
///
/// A service that verifies a token alone takes it until it expires. This server looks its session up as well, by the
/// `jti`: the hash of the session's opaque token, which is worth nothing without the signature.
package final class JWTAccessTokens: AccessTokenForm {
    /// The `typ`, which no other kind of signed text has.
    static let type = "at+jwt"
    /// The longest token that is read. Those with the longest names are shorter.
    static let maximumBytes = 4096
    /// How long `iss`, `client_id` and `aud` may be together. Then a token fits in a header field of 2 KiB, which every
    /// server takes.
    static let longestNames = 1024
    /// A key is published for a day after its last signature.
    static let longestLifetime: Int64 = 43_200

    private let issuer: String
    private let audiences: [String: [String]]
    private let keys: SigningKeys
    /// The tokens that were verified in the last minute, as apps send one many times. A key is known as long after its
    /// removal.
    private let verified = Mutex(BoundedCache<TokenHash, Claims>(capacity: 16_384, lifetime: 60))

    /// What a token says, once its signature has verified.
    private struct Claims: Sendable {
        let hash: TokenHash
        let sessionID: String
        let clientID: String
        let subject: String
        /// The thumbprint of the key that it is bound to (RFC 9449 section 6.1).
        let key: String?
        let expiresAt: Int64

        func name(_ holder: SessionAndUser) -> Bool {
            sessionID == holder.session.id && clientID == holder.session.clientID && subject == holder.user.publicID
        }
    }

    /// - Parameter clients: Those with JWTs. Of two of one id, both have the same.
    package init(issuer: String, clients: [SignInConfiguration.Client], keys: SigningKeys) {
        self.issuer = issuer
        audiences = Dictionary(
            clients.map { ($0.id.text, $0.rules.accessToken.audience.map(\.text)) },
            uniquingKeysWith: { first, _ in first })
        self.keys = keys
    }

    /// Nil if no client has JWTs.
    convenience init?(_ configuration: Configuration, keys: SigningKeys) {
        let clients = configuration.allClients.filter { $0.rules.accessToken.form == .jwt }
        // As the metadata has it.
        guard let issuer = configuration.issuer, !clients.isEmpty else { return nil }
        self.init(issuer: issuer, clients: clients, keys: keys)
    }

    package func token(
        of holder: SessionAndUser, under hash: TokenHash, boundTo key: String?, in sessions: Sessions
    ) async throws(SignInError) -> Secret? {
        guard let audience = audiences[holder.session.clientID] else { return nil }
        var claims = JSONObjectWriter(capacity: 512)
        claims.add("iss", issuer)
        claims.add("sub", holder.user.publicID)
        if audience.count == 1 { claims.add("aud", audience[0]) } else { claims.add("aud", audience) }
        claims.add("client_id", holder.session.clientID)
        claims.add("iat", sessions.clock.now().secondsSinceEpoch)
        claims.add("exp", holder.session.expiresAt.secondsSinceEpoch)
        claims.add("auth_time", holder.session.createdAt.secondsSinceEpoch)
        claims.add("jti", Base64URL.encode(hash.bytes))
        claims.add("sid", holder.session.id)
        if let key { claims.add("cnf", object: { $0.add("jkt", key) }) }
        return try await keys.signer().token(type: Self.type, naming: .keyID, claims: claims.finish())
    }

    package func holder(
        of token: Secret, in sessions: Sessions
    ) async throws(SignInError) -> (hash: TokenHash, found: SessionAndUser)? {
        let now = sessions.clock.now()
        let key = SessionTokenFormat.key(of: token.exposed)
        let token = key.map { Secret(String(token.exposed.dropFirst($0.utf8.count + 1))) } ?? token
        guard let claims = try await claims(of: token, at: now), claims.key == key,
            now.secondsSinceEpoch < claims.expiresAt, let found = try await sessions.holder(under: claims.hash),
            claims.name(found)
        else { return nil }
        return (claims.hash, found)
    }

    /// Nil for a text that this server has not signed as a session token.
    private func claims(of token: Secret, at now: Timestamp) async throws(SignInError) -> Claims? {
        let name = TokenHash(sha256Of: token.exposed)
        if let known = verified.withLock({ $0.value(for: name, at: now) }) { return known }
        guard let claims = try await verify(token) else { return nil }
        verified.withLock { $0.put(claims, for: name, at: now) }
        return claims
    }

    private func verify(_ text: Secret) async throws(SignInError) -> Claims? {
        guard let token = CompactToken(text, maximumBytes: Self.maximumBytes),
            let id = token.header?["kid"]?.string,
            let key = try await keys.published().first(where: { $0.id == id }),
            let claims = token.claims(ofType: Self.type, signedBy: key.key),
            claims["iss"]?.string == issuer, let end = claims["exp"]?.integer,
            let hash = claims["jti"]?.string.flatMap({ Base64URL.decode($0) }).flatMap({ TokenHash($0) }),
            let session = claims["sid"]?.string, let client = claims["client_id"]?.string,
            let subject = claims["sub"]?.string
        else { return nil }
        return Claims(
            hash: hash, sessionID: session, clientID: client, subject: subject, key: claims.keyOfToken, expiresAt: end)
    }
}

extension JSONObject {
    /// The key that a token with these claims is bound to.
    fileprivate var keyOfToken: String? { self["cnf"]?.object?["jkt"]?.string }
}

extension Secret {
    /// A session token with its key in front (`SessionTokenFormat`), as a JWT has it among its claims only.
    var withKeyInFront: Secret {
        guard let payload = CompactToken(self, maximumBytes: JWTAccessTokens.maximumBytes)?.payload.object,
            let key = payload.keyOfToken
        else { return self }
        return Secret("\(key)~\(exposed)")
    }
}

/// What contradicts itself or is unsafe in `access_token` and `access_token_audience`, which are the core's.
extension ServicesSettings {
    package func contradictions(
        in configuration: Configuration
    ) -> [(key: String, reason: String, remedy: String)] {
        Self.clients(in: configuration).compactMap { key, client in
            Self.contradiction(of: client, in: configuration).map {
                (key, "the client \(client.id.text) \($0.reason)", $0.remedy)
            }
        }
    }

    private static func contradiction(
        of client: Configuration.Client, in configuration: Configuration
    ) -> (reason: String, remedy: String)? {
        let rules = client.rules.accessToken
        guard rules.form == .jwt else {
            return ("has access_token_audience, but opaque tokens", "set access_token to jwt, or remove it")
        }
        guard !rules.audience.isEmpty else {
            return ("has access_token: jwt, but no access_token_audience", "list the services that it is for")
        }
        guard let issuer = configuration.issuer else {
            return ("has access_token: jwt, which needs an issuer", "set public_url")
        }
        // An attacker who can read the database has the hashes of all sessions. With unencrypted signing keys, this
        // attacker could sign tokens for them.
        guard !configuration.keysOfSigningKeys.isEmpty else {
            return ("has access_token: jwt, whose signing keys are stored encrypted only", "set encryption_keys")
        }
        let names = [issuer, client.id.text] + rules.audience.map(\.text)
        guard names.reduce(0, { $0 + $1.utf8.count }) <= JWTAccessTokens.longestNames else {
            return (
                "has an access_token_audience that is too long: with public_url and the client's id it may have "
                    + "\(JWTAccessTokens.longestNames) characters", "give fewer or shorter audiences"
            )
        }
        guard lifetime(of: client, in: configuration) <= JWTAccessTokens.longestLifetime else {
            return (
                "has access_token: jwt, and a sessions.access_lifetime of more than 12 hours",
                "make it shorter: services take such a token until it expires, also after the session's end"
            )
        }
        let others = configuration.allClients.filter { $0.id == client.id }
        guard others.allSatisfy({ $0.rules.accessToken == rules }) else {
            return (
                "has other session tokens at another provider",
                "give it the same access_token and access_token_audience at both"
            )
        }
        return nil
    }

    package func warnings(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] {
        Self.clients(in: configuration).compactMap { key, client in
            let lifetime = Self.lifetime(of: client, in: configuration)
            guard lifetime > 3600 else { return nil }
            return (
                key,
                "the client \(client.id.text) has access_token: jwt, and services may take its tokens for "
                    + "\(lifetime / 60) minutes after a session has ended", "give it a shorter sessions.access_lifetime"
            )
        }
    }

    private static func lifetime(of client: Configuration.Client, in configuration: Configuration) -> Int64 {
        client.rules.sessions.access ?? client.rules.accessToken.usualLifetime(configuration.sessions.access)
    }

    /// The clients that have any of the keys, with the key that holds them.
    private static func clients(
        in configuration: Configuration
    ) -> [(key: String, client: Configuration.Client)] {
        configuration.allProviders.flatMap { provider in
            provider.clients.filter { $0.rules.accessToken != .init() }.map { (provider.keys.clients, $0) }
        }
    }
}
