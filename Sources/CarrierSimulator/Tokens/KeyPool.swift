import Synchronization

/// Makes each key at its first use, once in the process.
///
/// Making an RSA key is slow, and tests start many simulators. All simulators share their keys; two carriers, or two
/// generations of one carrier's keys, never share one.
final class KeyPool: Sendable {
    /// The use of a key.
    struct Slot: Hashable, Sendable {
        enum Purpose: Hashable, Sendable {
            case signing(CarrierSimulator.Carrier.SigningAlgorithm)
            /// Published beside the signing key and never used to sign.
            case decoy(CarrierSimulator.Carrier.SigningAlgorithm, Int)
            /// An RSA key of 1024 bits.
            case weak
            /// A key that the carrier does not publish.
            case unpublished
        }

        let mccmnc: String
        let purpose: Purpose
        var generation = 0
    }

    static let shared = KeyPool()

    private let keys = Mutex<[Slot: Task<SigningKey, any Error>]>([:])

    func key(_ slot: Slot) async throws -> SigningKey {
        let task = keys.withLock { keys in
            if let known = keys[slot] { return known }
            let task = Task.detached { try Self.make(for: slot.purpose) }
            keys[slot] = task
            return task
        }
        return try await task.value
    }

    private static func make(for purpose: Slot.Purpose) throws -> SigningKey {
        switch purpose {
        case .signing(.es256), .decoy(.es256, _): SigningKey.makeP256()
        case .signing(.rs256), .decoy(.rs256, _), .unpublished: try SigningKey.makeRSA()
        case .weak: try SigningKey.makeRSA(bits: 1024)
        }
    }
}
