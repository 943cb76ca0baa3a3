package import OpenIDConnect
package import Primitives
package import StorageModel

/// Encrypts providers' tokens for the store: AES-256-GCM under one of the administrator's keys, bound to their row, so
/// that write access to the database does not suffice to use one user's tokens for another.
///
/// The first key encrypts and all decrypt, so that keys can be changed while servers run (docs/providers.md).
package struct TokenVault: Sendable {
    package enum VaultError: String, Error {
        /// Their key is not configured.
        case unknownKey = "unknown_key"
        /// They belong to another row, or were changed.
        case unreadable
        /// No key is configured, so nothing can be encrypted.
        case noKey = "no_key"
    }

    private let keys: [EncryptionKey]

    package init(keys: [EncryptionKey]) { self.keys = keys }

    package var currentKeyID: String? { keys.first?.id }

    package func holds(_ keyID: String) -> Bool { keys.contains { $0.id == keyID } }

    package func seal(_ tokens: ProviderTokens, at binding: TokenBinding) throws(VaultError) -> SealedTokens {
        var json = JSONObjectWriter(capacity: 512)
        tokens.write(to: &json)
        // Tokens that can be refreshed have no expiry.
        return try seal(json.finish(), at: binding, expiresAt: tokens.refreshToken == nil ? tokens.expiresAt : nil)
    }

    package func open(_ record: ProviderTokenRecord) throws(VaultError) -> ProviderTokens {
        let content = try content(of: record)
        guard let json = (try? JSONValue(parsing: content))?.object, let tokens = ProviderTokens(json) else {
            throw .unreadable
        }
        return tokens
    }

    /// The same tokens, encrypted under the current key.
    package func resealed(_ record: ProviderTokenRecord) throws(VaultError) -> SealedTokens {
        try seal(try content(of: record), at: record.binding, expiresAt: record.sealed.expiresAt)
    }

    private func seal(
        _ content: [UInt8], at binding: TokenBinding, expiresAt: Timestamp?
    ) throws(VaultError) -> SealedTokens {
        guard let key = keys.first else { throw .noKey }
        guard let sealed = try? key.key.seal(content, boundTo: Self.authenticated(binding, key.id)) else {
            throw .noKey
        }
        return SealedTokens(keyID: key.id, content: sealed, expiresAt: expiresAt)
    }

    private func content(of record: ProviderTokenRecord) throws(VaultError) -> [UInt8] {
        guard let key = keys.first(where: { $0.id == record.sealed.keyID }) else { throw .unknownKey }
        guard let content = key.key.open(record.sealed.content, boundTo: Self.authenticated(record.binding, key.id))
        else { throw .unreadable }
        return content
    }

    /// The data that the content is bound to, each part after its length, so that no two bindings have the same bytes.
    private static func authenticated(_ binding: TokenBinding, _ keyID: String) -> [UInt8] {
        let parts = [
            "latchkey provider tokens", keyID, String(binding.user.number), binding.identity.issuer,
            binding.identity.subject, binding.provider, binding.clientID,
        ]
        return parts.flatMap { part in withUnsafeBytes(of: Int64(part.utf8.count).bigEndian, Array.init) + part.utf8 }
    }
}

extension TokenVault {
    /// Stores tokens with a sign-in. A provider may issue a refresh token at the first sign-in only, so without a new
    /// one the earlier one stays.
    package func storing(_ tokens: ProviderTokens, of provider: String, for clientID: String) -> NewProviderTokens {
        NewProviderTokens(provider: provider, clientID: clientID) { binding, earlier in
            try seal(tokens.withRefreshToken(of: earlier.flatMap { try? open($0) }), at: binding)
        }
    }
}

/// The tokens that a provider issued for a user, with which its resources are fetched.
package struct ProviderTokens: Sendable, Hashable {
    package var accessToken: Secret
    /// The key that the access token is bound to (RFC 9449); nil for a Bearer token, and for tokens that an earlier
    /// version stored.
    package var accessTokenKey: DPoPKey?
    /// Nil if the provider issued none.
    package var refreshToken: Secret?
    /// The key that the refresh token may be bound to. It is another one than the access token's if the refresh
    /// token is of an earlier sign-in.
    package var refreshTokenKey: DPoPKey?
    /// When the access token expires, if the provider said so.
    var expiresAt: Timestamp?
    /// From when the access token is not sent any more, because it could expire on the way; nil if it does not expire.
    package var refreshAt: Timestamp?
    /// The granted scopes, if the provider named them.
    package var scope: String?
    /// The claims of the sign-in's ID token that those of refreshes are compared with; nil if they are not known: from
    /// a provider without ID tokens, and for tokens that an earlier version stored.
    package var original: OriginalIDToken.Claims?
    /// The ID token that came with these tokens, if it could not be validated yet.
    package var unverified: UnverifiedIDToken?

    /// An ID token of a refresh whose validation waits for the provider's keys.
    package struct UnverifiedIDToken: Sendable, Hashable {
        package let token: Secret
        package let receivedAt: Timestamp

        package init(token: Secret, receivedAt: Timestamp) {
            self.token = token
            self.receivedAt = receivedAt
        }
    }

    /// For how many seconds before its end an access token is not sent, if it lives two minutes or more.
    private static let longestMargin: Int64 = 30
    /// The upper bound of a stated lifetime: ten years, in seconds.
    private static let longestLife: Int64 = 315_360_000

    package init(_ response: TokenResponse, _ idToken: VerifiedIDToken? = nil, at now: Timestamp) {
        original = idToken?.claimsForRefresh
        accessToken = response.accessToken
        accessTokenKey = response.accessTokenKey
        refreshToken = response.refreshToken
        refreshTokenKey = response.proofKey
        if let lifetime = response.expiresIn.map({ min($0, Self.longestLife) }) {
            expiresAt = now.advanced(bySeconds: lifetime)
            // A token of a shorter life would be stale when it comes, and each request would need a refresh.
            refreshAt = now.advanced(bySeconds: lifetime - min(Self.longestMargin, lifetime / 4))
        }
        scope = response.scope
    }

    /// The tokens with an earlier sign-in's refresh token, if they have none: its refreshes have the ID tokens of that
    /// sign-in. One that came with an ID token that is not validated may be another user's.
    func withRefreshToken(of earlier: ProviderTokens?) -> ProviderTokens {
        guard refreshToken == nil, let earlier, earlier.unverified == nil, let refreshToken = earlier.refreshToken
        else { return self }
        return altered(self) {
            $0.refreshToken = refreshToken
            $0.refreshTokenKey = earlier.refreshTokenKey
            $0.original = earlier.original
        }
    }
}

extension ProviderTokens {
    package init?(_ json: JSONObject) {
        guard let accessToken = json["access_token"]?.string else { return nil }
        self.accessToken = Secret(accessToken)
        accessTokenKey = json["access_token_key"]?.string.flatMap { DPoPKey(secret: Secret($0)) }
        refreshToken = json["refresh_token"]?.string.map { Secret($0) }
        refreshTokenKey = json["refresh_token_key"]?.string.flatMap { DPoPKey(secret: Secret($0)) }
        expiresAt = json["expires_at"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }
        // Earlier versions did not store it.
        refreshAt =
            json["refresh_at"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }
            ?? expiresAt?.advanced(bySeconds: -Self.longestMargin)
        scope = json["scope"]?.string
        original = json["id_token_claims"]?.object.map { OriginalIDToken.Claims($0) }
        if let json = json["unverified_id_token"] {
            guard let unverified = json.object.flatMap({ UnverifiedIDToken($0) }) else { return nil }
            self.unverified = unverified
        }
    }

    package func write(to json: inout JSONObjectWriter) {
        json.add("access_token", accessToken.exposed)
        json.add("access_token_key", ifPresent: accessTokenKey?.secret.exposed)
        json.add("refresh_token", ifPresent: refreshToken?.exposed)
        json.add("refresh_token_key", ifPresent: refreshTokenKey?.secret.exposed)
        if let expiresAt { json.add("expires_at", expiresAt.secondsSinceEpoch) }
        if let refreshAt { json.add("refresh_at", refreshAt.secondsSinceEpoch) }
        json.add("scope", ifPresent: scope)
        if let original { json.add("id_token_claims", object: original.write) }
        if let unverified { json.add("unverified_id_token", object: unverified.write) }
    }
}

extension ProviderTokens.UnverifiedIDToken {
    fileprivate init?(_ json: JSONObject) {
        guard let token = json["token"]?.string, let receivedAt = json["received_at"]?.integer else { return nil }
        self.init(token: Secret(token), receivedAt: Timestamp(secondsSinceEpoch: receivedAt))
    }

    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("token", token.exposed)
        json.add("received_at", receivedAt.secondsSinceEpoch)
    }
}

extension OriginalIDToken.Claims {
    fileprivate init(_ json: JSONObject) {
        self.init(
            authTime: json["auth_time"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }, nonce: json["nonce"]?.string,
            authorizedParty: json["azp"]?.string)
    }

    fileprivate func write(to json: inout JSONObjectWriter) {
        if let authTime { json.add("auth_time", authTime.secondsSinceEpoch) }
        json.add("nonce", ifPresent: nonce)
        json.add("azp", ifPresent: authorizedParty)
    }
}

/// Prepares the claims that a user consented to share for the store: AES-256-GCM under one of the administrator's keys
/// (`encryption_keys`), bound to what they belong to, so that write access to the database does not suffice to
/// give one user's claims to another.
///
/// Without a key the sensitive claims are not stored. The first key encrypts and all decrypt.
package struct ClaimsVault: Sendable {
    private let keys: [EncryptionKey]

    package init(keys: [EncryptionKey]) { self.keys = keys }

    // What stored claims belong to.

    private static func user(_ publicID: String) -> String { "user " + publicID }

    /// A registration that is not complete, or a backchannel authentication.
    private static func handle(_ hash: TokenHash) -> String { "handle " + hash.bytes.hexadecimal }

    /// The claims of a registration or a backchannel authentication in the form of the store: the id of the key, a
    /// colon and the encrypted JSON in base64url; without a key the JSON of those that are not sensitive.
    /// - Returns: Nil if there is nothing to store.
    package func stored(_ claims: ConsentedClaims, of handle: TokenHash) -> String? {
        let storable = keys.isEmpty ? claims.filtered { !$0.isSensitive } : claims
        guard !storable.isEmpty else { return nil }
        var json = JSONObjectWriter()
        storable.write(to: &json)
        return text(of: json.finish(), Self.handle(handle))
    }

    /// The claims of a registration or a backchannel authentication; none if they belong to another, or their key is
    /// not configured.
    package func claims(in stored: String?, of handle: TokenHash) -> ConsentedClaims {
        guard let stored, let bytes = content(of: stored, of: Self.handle(handle)),
            let object = (try? JSONValue(parsing: bytes))?.object
        else { return ConsentedClaims() }
        return ConsentedClaims(object)
    }

    /// A new user's claims in the same form.
    /// - Returns: Nil if there is nothing to store.
    package func stored(_ claims: ClientClaims, of publicID: String) -> String? {
        var user = UserClaims()
        user.set(claims)
        return stored(user, of: publicID)
    }

    /// The claims that a user consented to share with a client; nil if there are none that can be read.
    package func claims(of user: User, for clientID: String) -> ClientClaims? {
        guard let stored = user.assertions?.claims else { return nil }
        return userClaims(in: stored, of: user.publicID)?[clientID]
    }

    /// The same claims, encrypted under the current key; nil if they cannot be decrypted, or there is no key. Claims
    /// that were stored without a key are encrypted, too.
    package func resealed(_ stored: String, of publicID: String) -> String? {
        let owner = Self.user(publicID)
        guard let key = keys.first,
            let content = stored.hasPrefix("{") ? Array(stored.utf8) : content(of: stored, of: owner)
        else { return nil }
        return Self.seal(content, with: key, of: owner)
    }

    /// Gives a user the claims of a sign-in.
    package func update(with brought: ClientClaims, asked scopes: [String]) -> ClaimsUpdate {
        { publicID, earlier in
            guard earlier != nil || !brought.claims.isEmpty else { return nil }
            let asked = ConsentedClaim.allCases.filter { brought.claims[$0] != nil || scopes.contains($0.rawValue) }
            // What cannot be read stays, because its key may be restored.
            guard !asked.isEmpty, let known = userClaims(in: earlier, of: publicID) else { return earlier }
            var all = known
            all.set(known[brought.clientID]?.updated(with: brought, asked: asked) ?? brought)
            // Encrypted anew they would differ, and the user would be written at every sign-in.
            if (keys.isEmpty ? all.withoutSensitive : all) == known, isCurrent(earlier) { return earlier }
            return stored(all, of: publicID)
        }
    }

    private func stored(_ claims: UserClaims, of publicID: String) -> String? {
        (keys.isEmpty ? claims.withoutSensitive : claims).json.flatMap { text(of: $0, Self.user(publicID)) }
    }

    /// Nil if there are claims that cannot be read.
    private func userClaims(in stored: String?, of publicID: String) -> UserClaims? {
        guard let stored else { return UserClaims() }
        // With a key, what is not encrypted may be of anybody who can write to the database.
        if !keys.isEmpty, stored.hasPrefix("{") { return UserClaims() }
        return content(of: stored, of: Self.user(publicID)).map(UserClaims.init)
    }

    private func isCurrent(_ stored: String?) -> Bool {
        guard let stored, let key = keys.first else { return true }
        return stored.hasPrefix(key.id + ":")
    }

    private func text(of content: [UInt8], _ owner: String) -> String? {
        guard let key = keys.first else { return String(decoding: content, as: UTF8.self) }
        return Self.seal(content, with: key, of: owner)
    }

    private func content(of stored: String, of owner: String) -> [UInt8]? {
        guard !stored.hasPrefix("{") else { return keys.isEmpty ? Array(stored.utf8) : nil }
        let parts = stored.split(ascii: ":", maxSplits: 1)
        guard parts.count == 2, let key = keys.first(where: { $0.id == parts[0] }),
            let sealed = Base64URL.decode(String(parts[1]))
        else { return nil }
        return key.key.open(sealed, boundTo: Self.authenticated(owner, key.id))
    }

    private static func seal(_ content: [UInt8], with key: EncryptionKey, of owner: String) -> String? {
        guard let sealed = try? key.key.seal(content, boundTo: authenticated(owner, key.id)) else { return nil }
        return key.id + ":" + Base64URL.encode(sealed)
    }

    private static func authenticated(_ owner: String, _ keyID: String) -> [UInt8] {
        Array("latchkey consented claims \(keyID) \(owner)".utf8)
    }
}

/// The claims that a user consented to share with one client, and the provider that sent them.
package struct ClientClaims: Sendable, Hashable {
    /// The client that the user consented to share them with, and the only one that is shown them.
    package let clientID: String
    /// The issuer of the provider that sent them.
    package let issuer: String
    package let claims: ConsentedClaims

    package init(_ claims: ConsentedClaims, for clientID: String, from issuer: String) {
        self.clientID = clientID
        self.issuer = issuer
        self.claims = claims
    }

    /// These claims after a later sign-in of the same client.
    /// - Parameters:
    ///   - other: What the sign-in brought. Claims of another provider replace all of these.
    ///   - asked: What the sign-in asked for. Claims that were asked for and not sent are withdrawn.
    func updated(with other: ClientClaims, asked: [ConsentedClaim]) -> ClientClaims {
        guard other.issuer == issuer else { return other.claims.isEmpty ? self : other }
        let kept = claims.filtered { !asked.contains($0) }
        return ClientClaims(other.claims.filled(with: kept), for: clientID, from: issuer)
    }
}

/// The claims that a user consented to share, apart for each client.
struct UserClaims: Sendable, Equatable {
    /// One for each client, the latest change last.
    private(set) var clients: [ClientClaims] = []

    /// Bounds a user's row: the oldest are left out.
    static let maximumClients = 16

    subscript(clientID: String) -> ClientClaims? { clients.first { $0.clientID == clientID } }

    mutating func set(_ client: ClientClaims) {
        clients.removeAll { $0.clientID == client.clientID }
        if !client.claims.isEmpty { clients.append(client) }
        clients.removeFirst(max(0, clients.count - Self.maximumClients))
    }

    /// What may be stored without encryption.
    var withoutSensitive: UserClaims {
        var some = UserClaims()
        for client in clients {
            let claims = client.claims.filtered { !$0.isSensitive }
            some.set(ClientClaims(claims, for: client.clientID, from: client.issuer))
        }
        return some
    }
}

/// As JSON, for the store.
extension UserClaims {
    /// Nil if there are no claims.
    var json: [UInt8]? {
        guard !clients.isEmpty else { return nil }
        var json = JSONObjectWriter()
        json.add("clients", objects: clients) { client, json in
            json.add("client_id", client.clientID)
            json.add("issuer", client.issuer)
            json.add("claims", object: client.claims.write)
        }
        return json.finish()
    }

    /// Reads what ``json`` wrote, and leaves out what it did not write.
    init(json bytes: [UInt8]) {
        let object = (try? JSONValue(parsing: bytes))?.object
        for client in object?["clients"]?.array ?? [] {
            guard let client = client.object, let clientID = client["client_id"]?.string,
                let issuer = client["issuer"]?.string, let claims = client["claims"]?.object
            else { continue }
            set(ClientClaims(ConsentedClaims(claims), for: clientID, from: issuer))
        }
    }
}
