import Crypto
import OpenIDConnect
import Primitives
import StorageModel

@testable import ProviderResources
@testable import Redirects
@testable import Registration
@testable import SignIn

/// The bytes as what a use case reads from a column. The first byte says which.
enum StoredContentTarget {
    static func read(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let content = Array(bytes.dropFirst())
        switch first {
        case UInt8(ascii: "p"): readPendingRedirect(content)
        case UInt8(ascii: "w"): readWaitingTokens(content)
        case UInt8(ascii: "c"): readClaims(content)
        case UInt8(ascii: "k"): readKeys(content)
        case UInt8(ascii: "e"): readEncrypted(content)
        default: break
        }
    }

    private static func readPendingRedirect(_ content: [UInt8]) {
        guard let pending = PendingRedirect(content) else { return }
        let written = pending.bytes
        guard let again = PendingRedirect(written) else {
            return demand(false, "a redirect sign-in that is written is read")
        }
        // The JSON of former versions could have a scope with a space, which is two of them here.
        demand(
            PendingRedirect(again.bytes)?.bytes == again.bytes, "a redirect sign-in that is written is read as the same"
        )
        demand(again.leg == pending.leg && again.clientID == pending.clientID, "a redirect sign-in keeps its client")
        demand(again.start.redirectURI == pending.start.redirectURI, "a redirect sign-in keeps its destination")
        demand(
            again.browserHash == pending.browserHash && again.start.codeChallenge == pending.start.codeChallenge,
            "a redirect sign-in keeps what it is bound to")
    }

    private static func readWaitingTokens(_ content: [UInt8]) {
        guard let waiting = WaitingTokens.read(content) else { return }
        let signIn = VerifiedSignIn(
            Identity(issuer: "https://login.example", subject: "jane"), nil, tokens: waiting.tokens,
            idToken: waiting.idToken)
        let written = WaitingTokens.bytes(of: signIn, from: waiting.provider)
        guard let again = written.flatMap(WaitingTokens.read) else {
            return demand(false, "tokens that are written are read")
        }
        demand(
            again.tokens == waiting.tokens && again.idToken == waiting.idToken && again.provider == waiting.provider,
            "tokens stay as they are")
        demand(waiting.tokens != nil || waiting.idToken != nil, "something waits")
        _ = waiting.tokens?.areStale(at: Timestamp(secondsSinceEpoch: .max), refused: nil)
        guard let idToken = waiting.idToken else { return }
        let session = SessionTokens(
            token: Secret(String(repeating: "a", count: 48)), refreshToken: Secret(String(repeating: "b", count: 48)),
            expiresIn: 1, refreshExpiresIn: 1)
        let sealed = SealedIDToken(idToken, openedBy: session)
        demand(
            sealed?.hint(forSessionToken: session.token) == idToken, "an ID token that is sealed is opened as it was")
    }

    private static func readClaims(_ content: [UInt8]) {
        let claims = UserClaims(json: content)
        demand(claims.clients.count <= UserClaims.maximumClients, "claims are of few clients")
        demand(claims.clients.isEmpty == (claims.json == nil), "no claims are no text")
        guard let json = claims.json else { return }
        demand(UserClaims(json: json) == claims, "claims that are written are read as the same")
        demand(
            claims.withoutSensitive.clients.allSatisfy { $0.claims.present.allSatisfy { !$0.isSensitive } },
            "what is stored without encryption is not sensitive")
    }

    private static func readKeys(_ content: [UInt8]) {
        if let scalar = try? P256.Signing.PrivateKey(rawRepresentation: content) {
            let key = SigningKey(scalar)
            demand(key.rawRepresentation == content, "a signing key is stored as it is")
            demand(key.publicPoint.count == 64, "a public key is a point")
        }
        demand((IdempotencyKey(bytes: content) == nil) == (content.count != 16), "an idempotency key has 16 bytes")
        demand(IdempotencyKey(bytes: content).map { $0.bytes == content } ?? true, "an idempotency key is as stored")
        demand((TokenHash(content) == nil) == (content.count != 32), "a hash has 32 bytes")
        demand(TokenHash(content).map { $0.bytes == content } ?? true, "a hash is as stored")
        if let hash = ProviderSessionHash(stored: content) {
            demand(hash.bytes == content, "the hash of a provider's session is as stored")
        }
        if let key = EncryptionKey(content) {
            demand(key.id.utf8.count == 16, "an encryption key has an id")
        }
    }

    /// What was not encrypted here cannot be opened, whatever it is; what was, is as it was.
    private static func readEncrypted(_ content: [UInt8]) {
        guard let key = EncryptionKey(Array(repeating: 7, count: 32)) else { return }
        let vault = TokenVault(keys: [key])
        let binding = TokenBinding(
            user: UserID(1), identity: Identity(issuer: "https://issuer.example", subject: "a"), provider: "zenkey",
            clientID: "a")
        let record = ProviderTokenRecord(
            serial: 1, binding: binding, sealed: SealedTokens(keyID: key.id, content: content, expiresAt: nil),
            version: 1)
        demand((try? vault.open(record)) == nil, "tokens of another key cannot be opened")
        let foreign = SealedIDToken(content: content, sessionKey: content)
        let refreshToken = Secret(String(repeating: "b", count: 48))
        demand(foreign.hint(forRefreshToken: refreshToken) == nil, "nor an ID token by a refresh token")
        demand(foreign.hint(forSessionToken: Secret("a")) == nil, "nor by a session token")
        demand(EncryptedOneTimeStore.opening(.pendingRedirect, under: Secret("a")).open(content) == nil, "nor a record")
        guard let sealed = try? key.key.seal(content, boundTo: [1]) else { return }
        demand(key.key.open(sealed, boundTo: [1]) == content, "what was encrypted is opened")
        demand(key.key.open(sealed, boundTo: [2]) == nil, "what was encrypted is bound")
    }
}
