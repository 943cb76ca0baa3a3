import Crypto
import OpenIDConnect
import Primitives
import Synchronization

/// The answers of Telco Finder that may be kept for a while. In memory only, and without the numbers: a number is known
/// by its hash with a key that only this process has.
final class TelcoFinderAnswers: Sendable {
    /// How many answers are kept; some 300 bytes each.
    static let capacity = 10_000

    /// The HMAC-SHA256 of a number and of the provider that asks.
    struct Key: Sendable, Hashable {
        private let code: [UInt8]

        fileprivate init(_ code: [UInt8]) { self.code = code }
    }

    private struct Answer: Sendable {
        let found: FoundOperator
        let since: Timestamp
        let until: Timestamp
    }

    private let secret = SymmetricKey(size: .bits256)
    private let answers = Mutex(BoundedCache<Key, Answer>(capacity: capacity))

    func key(of number: MSISDN, at provider: String) -> Key {
        let text = provider + "\n" + number.text
        return Key(Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: secret)))
    }

    /// The answer about a number, if one may still be used. After a clock that was set back none may.
    subscript(key: Key, now: Timestamp) -> FoundOperator? {
        guard let answer = answers.withLock({ $0[key] }), answer.since <= now, now < answer.until else { return nil }
        return answer.found
    }

    /// Keeps an answer as long as it says.
    func keep(_ found: FoundOperator, under key: Key, at now: Timestamp) {
        guard found.lifetime > 0 else { return }
        let answer = Answer(found: found, since: now, until: now.advanced(bySeconds: found.lifetime))
        answers.withLock { $0.put(answer, for: key) }
    }
}
