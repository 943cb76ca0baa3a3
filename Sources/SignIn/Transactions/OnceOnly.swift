import Primitives
import StorageModel
import Synchronization

/// What this process did lately and must not do again: posting the code of a transaction, taking its nonce.
///
/// A carrier refuses a used code as well, and the store makes no second receipt of one; this spares the carrier the
/// second request, on which it may revoke what the first one brought (RFC 6749 section 4.1.2).
final class OnceOnly: Sendable {
    private let done = Mutex(BoundedCache<TokenHash, Bool>(capacity: 16_384))

    /// Notes that something is about to be done; false if it was before.
    func begin(_ deed: TokenHash) -> Bool {
        done.withLock { done in
            guard done[deed] == nil else { return false }
            done.put(true, for: deed)
            return true
        }
    }

    /// Notes that something was not done after all.
    func undo(_ deed: TokenHash) {
        done.withLock { _ = $0.remove(deed) }
    }
}
