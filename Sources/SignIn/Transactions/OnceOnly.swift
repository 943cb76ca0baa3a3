import Primitives
import StorageModel
import Synchronization

/// What this process did lately and must not repeat: posting the code of a transaction, taking its nonce.
///
/// The carrier refuses a used code, too, and the store records no second receipt for it. But on a second request, the
/// carrier may revoke the tokens of the first (RFC 6749 section 4.1.2).
final class OnceOnly: Sendable {
    private let done = Mutex(BoundedCache<TokenHash, Bool>(capacity: 16_384))

    /// Records that an action begins; false if it began before.
    func begin(_ action: TokenHash) -> Bool {
        done.withLock { done in
            guard done[action] == nil else { return false }
            done.put(true, for: action)
            return true
        }
    }

    /// Notes that something was not done after all.
    func undo(_ deed: TokenHash) { done.withLock { _ = $0.remove(deed) } }
}
