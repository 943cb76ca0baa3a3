import Crypto
import FoundationEssentials
package import Primitives
package import StorageModel

/// Keeps values that are read once, by a random handle: AES-GCM under a key derived from the handle.
///
/// The store has the handle's hash and the encrypted value, so that a stolen database reveals no value.
package struct EncryptedOneTimeStore: Sendable {
    package struct Purpose: Sendable {
        /// A code, or a token in its place, stored to be recognised and never taken.
        package static let answeredCode = Purpose("answered code")

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
    package static func length(of content: [UInt8]) -> Int { content.count + 28 }

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
            record: record(hash, for: .answeredCode, seconds: RedirectStart.lifetime), usedBefore: error)
    }

    /// Marks a token as used.
    /// - Throws: The error of a second use.
    package func spend(_ use: TokenUse) async throws(SignInError) {
        guard try await add(use.record) else { throw use.usedBefore }
    }
}
