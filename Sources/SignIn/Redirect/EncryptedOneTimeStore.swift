import Crypto
import FoundationEssentials
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Keeps values that are read once, by a random handle: AES-GCM under a key derived from the handle.
///
/// The store has the handle's hash and the encrypted value, so that a stolen database reveals no value.
package struct EncryptedOneTimeStore: Sendable {
    package struct Purpose: Sendable {
        /// A redirect sign-in under way; the handle is the `state`.
        static let pendingRedirect = Purpose("redirect attempt")
        /// The tokens of an app's new session; the handle is its `session_id`.
        static let oneTimeSessionCode = Purpose("session handover")
        /// A code that a redirect sign-in brought, stored to be recognised and never taken.
        static let answeredCode = Purpose("answered code")

        package let text: String

        /// - Parameter text: Is stored, and other versions of the server read it: it never changes.
        package init(_ text: String) { self.text = text }
    }

    let store: any OneTimeRecordStore
    let clock: WallClock

    package init(store: any OneTimeRecordStore, clock: WallClock) {
        self.store = store
        self.clock = clock
    }

    package func keep(
        _ content: [UInt8], for purpose: Purpose, under handle: Secret, seconds: Int64,
        insteadOf evicted: [TokenHash] = []
    ) async throws(SignInError) {
        guard let sealed = try? Self.key(purpose, handle).seal(content) else { throw .internalFault }
        let hash = TokenHash(sha256Of: handle.exposed)
        _ = try await add(record(hash, for: purpose, seconds: seconds, content: sealed), insteadOf: evicted)
    }

    /// The length of some content when it is encrypted: with a nonce of 12 bytes and a tag of 16.
    static func length(of content: [UInt8]) -> Int { content.count + 28 }

    /// - Returns: False if there is a record of the handle already.
    package func add(_ record: OneTimeRecord, insteadOf evicted: [TokenHash] = []) async throws(SignInError) -> Bool {
        try await mappingStoreErrors(await store.addOneTimeRecord(record, insteadOf: evicted))
    }

    /// - Parameter content: None for the record of an operation that may happen once.
    package func record(_ hash: TokenHash, for purpose: Purpose, seconds: Int64, content: [UInt8] = []) -> OneTimeRecord
    {
        let end = clock.now().advanced(bySeconds: seconds)
        return OneTimeRecord(handle: hash, purpose: purpose.text, content: content, expiresAt: end)
    }

    /// Which handles have a record that is neither taken nor expired.
    package func present(among handles: [TokenHash]) async throws(SignInError) -> Set<TokenHash> {
        let now = clock.now()
        return try await mappingStoreErrors(await store.oneTimeRecords(among: handles, at: now))
    }

    /// Reads a value, once; nil if the handle is unknown, used or expired, or has another purpose.
    package func take(_ purpose: Purpose, under handle: Secret) async throws(SignInError) -> [UInt8]? {
        let hash = TokenHash(sha256Of: handle.exposed)
        let now = clock.now()
        let sealed = try await mappingStoreErrors(
            await store.takeOneTimeRecord(hash, purpose: purpose.text, at: now))
        return sealed.flatMap { Self.key(purpose, handle).open($0) }
    }

    /// The hash that finds a record and the function that decrypts it, for a store call that takes it in a transaction.
    package static func opening(_ purpose: Purpose, under handle: Secret) -> (
        handle: TokenHash, open: @Sendable ([UInt8]) -> [UInt8]?
    ) { (TokenHash(sha256Of: handle.exposed), { key(purpose, handle).open($0) }) }

    private static func key(_ purpose: Purpose, _ handle: Secret) -> SymmetricKey {
        SymmetricKey(derivedFrom: handle.exposed, for: purpose.text)
    }
}

/// Marks a token that stands in for a code as used.
package struct TokenUse: Sendable {
    let record: OneTimeRecord
    /// The error of a second use.
    let usedBefore: SignInError
}

/// A token that stands in for a code is used once, also if its server takes it again. It is bound to no app: an
/// attacker who finds a token could use it.
extension EncryptedOneTimeStore {
    /// - Parameters:
    ///   - name: Of the token and of its server.
    ///   - error: Of a second use.
    package func use(of token: Secret, _ name: String, orThrow error: SignInError) -> TokenUse {
        let hash = TokenHash(sha256Of: "\(name)\n\(token.exposed)")
        return TokenUse(
            record: record(hash, for: .answeredCode, seconds: RedirectSignIn.lifetime), usedBefore: error)
    }

    /// Marks a token as used.
    /// - Throws: The error of a second use.
    package func spend(_ use: TokenUse) async throws(SignInError) {
        guard try await add(use.record) else { throw use.usedBefore }
    }
}

/// Hands an app the session of its browser's sign-in, for a `session_id` that works once. If the app sent a code
/// challenge, a `session_id` read from a URL is worth nothing without the verifier.
package struct OneTimeSessionCode: UseCase {
    /// How long a `session_id` is good, in seconds.
    static let lifetime: Int64 = 120

    let environment: Environment
    let oneTimeStore: EncryptedOneTimeStore

    /// Stores a session's tokens under a new `session_id`.
    /// - Parameter isSession: Whether the app uses the `session_id` as its session token. It gets the session token
    ///   then, unless it sent a challenge: what is in a URL must be worth nothing without the verifier. The session
    ///   token cannot be exchanged, because others may read it in the URL and would get a refresh token.
    func leave(
        _ signedIn: SignedIn, of clientID: ClientID, codeChallenge: String?, isSession: Bool
    ) async throws(SignInError) -> Secret {
        guard !isSession || codeChallenge != nil else { return signedIn.tokens.token }
        let sessionID = Secret(random.token())
        var json = JSONObjectWriter()
        json.add("token", signedIn.tokens.token.exposed)
        json.add("refresh_token", signedIn.tokens.refreshToken.exposed)
        json.add("expires", signedIn.tokens.expiresIn)
        json.add("refresh_expires", signedIn.tokens.refreshExpiresIn)
        json.add("user_id", signedIn.userID.number)
        json.add("new_user", signedIn.isNew)
        json.add("correlation_id", signedIn.correlationID.text)
        json.add("client_id", clientID.text)
        json.add("code_challenge", ifPresent: codeChallenge)
        try await oneTimeStore.keep(json.finish(), for: .oneTimeSessionCode, under: sessionID, seconds: Self.lifetime)
        return sessionID
    }

    /// Exchanges a `session_id` for the tokens, once.
    /// - Parameters:
    ///   - codeVerifier: The verifier of the start's `code_challenge`, if it had one.
    ///   - clients: The clients whose sessions the caller may take; nil for all.
    /// - Throws: `invalid_token` for a `session_id` that is unknown, used or expired; `invalid_grant` for a wrong
    ///   verifier, and then the `session_id` is spent.
    package func callAsFunction(
        _ sessionID: Secret, codeVerifier: CodeVerifier?, clients: Set<String>? = nil
    ) async throws(SignInError) -> SignedIn {
        guard let bytes = try await oneTimeStore.take(.oneTimeSessionCode, under: sessionID),
            let json = (try? JSONValue(parsing: bytes))?.object, let signedIn = SignedIn(json),
            clients == nil || json["client_id"]?.string.map({ clients?.contains($0) ?? true }) == true
        else { throw .sessionCodeUnknown }
        // A verifier without a challenge is refused, too: its app did not start this sign-in (RFC 9700 section 4.8.2).
        guard isSame(codeVerifier?.challenge, json["code_challenge"]?.string) else { throw .sessionCodeVerifierWrong }
        return signedIn
    }

    private func isSame(_ presented: String?, _ expected: String?) -> Bool {
        guard let presented, let expected else { return presented == nil && expected == nil }
        return presented.hasSameBytes(as: expected)
    }
}

extension SignedIn {
    fileprivate init?(_ json: JSONObject) {
        guard let token = json["token"]?.string, let refreshToken = json["refresh_token"]?.string,
            let expiresIn = json["expires"]?.integer, let refreshExpiresIn = json["refresh_expires"]?.integer,
            let user = json["user_id"]?.integer,
            let isNew = json["new_user"]?.bool,
            let correlationID = json["correlation_id"]?.string.flatMap(CorrelationID.init)
        else { return nil }
        self.init(
            tokens: SessionTokens(
                token: Secret(token), refreshToken: Secret(refreshToken), expiresIn: expiresIn,
                refreshExpiresIn: refreshExpiresIn), userID: UserID(user), isNew: isNew, correlationID: correlationID)
    }
}
