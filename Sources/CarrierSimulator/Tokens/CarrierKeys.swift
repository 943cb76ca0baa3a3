import Primitives
import Synchronization

/// A carrier's keys: the signing key and the published key set.
struct CarrierKeys: Sendable {
    let site: CarrierSite

    /// The carrier's own algorithm, unless a fault needs RSA.
    private var algorithm: CarrierSimulator.Carrier.SigningAlgorithm {
        site.has(.idTokenPS256) || site.has(.idTokenRS512) ? .rs256 : site.carrier.signingAlgorithm
    }

    func signing() async throws -> SigningKey {
        try await KeyPool.shared.key(site.slot(site.has(.idTokenWeakKey) ? .weak : .signing(algorithm)))
    }

    func unpublished() async throws -> SigningKey { try await KeyPool.shared.key(site.slot(.unpublished)) }

    /// The key set (RFC 7517 section 5) with the carrier's present faults.
    func published() async throws -> JSONMembers {
        if site.has(.keysEmpty) { return ["keys": []] }
        let signing = try await signing()
        var keys = [signing.publicJWK(keyID: signing.keyID)]
        if site.has(.idTokenKeyIDAbsentSingle) { keys = [signing.publicJWK(keyID: nil)] }
        if site.has(.idTokenKeyIDAbsentMultiple) {
            keys = [
                try await decoy(algorithm, 0).publicJWK(keyID: nil), signing.publicJWK(keyID: nil),
                try await decoy(algorithm, 1).publicJWK(keyID: nil),
            ]
        }
        if site.has(.keysSharedKeyID) { keys = try await keysSharingID(of: signing) + keys }
        var entries = keys.map(\.value)
        if site.has(.keysJunkEntries) { entries = Self.junk + entries + Self.junk }
        var set: JSONMembers = ["keys": .array(entries)]
        if site.has(.keysHuge) { set["padding"] = .string(String(repeating: "p", count: 2 << 20)) }
        return set
    }

    private func decoy(_ algorithm: CarrierSimulator.Carrier.SigningAlgorithm, _ number: Int) async throws -> SigningKey
    {
        try await KeyPool.shared.key(site.slot(.decoy(algorithm, number)))
    }

    /// An encryption key of each type and a signing key of the other type, all under the signing key's kid.
    private func keysSharingID(of signing: SigningKey) async throws -> [JSONMembers] {
        let other: CarrierSimulator.Carrier.SigningAlgorithm = algorithm == .rs256 ? .es256 : .rs256
        return [
            try await decoy(.rs256, 0).publicJWK(keyID: signing.keyID, use: "enc"),
            try await decoy(.es256, 0).publicJWK(keyID: signing.keyID, use: "enc"),
            try await decoy(other, 1).publicJWK(keyID: signing.keyID),
        ]
    }

    private static let junk: [JSONValue] = [
        .null, "a key", 7, [],
        [:],
        ["kty": "RSA", "use": "sig", "kid": "no-numbers"],
        ["kty": "RSA", "use": "sig", "kid": "not-base64url", "n": "*** not base64url ***", "e": "AQAB"],
        ["kty": "RSA", "use": "sig", "kid": "exponent-one", "n": "rXyzAAAA", "e": "AQ"],
        ["kty": "EC", "use": "sig", "kid": "unknown-curve", "crv": "secp256k1", "x": "AA", "y": "AA"],
        [
            "kty": "EC", "use": "sig", "kid": "off-the-curve", "crv": "P-256",
            "x": .string(Base64URL.encode([UInt8](repeating: 1, count: 32))),
            "y": .string(Base64URL.encode([UInt8](repeating: 2, count: 32))),
        ],
        ["kty": "oct", "kid": "symmetric", "k": "c2VjcmV0"],
        ["kty": "OKP", "use": "sig", "kid": 42, "crv": "Ed25519", "x": "AA"],
        ["kty": "unheard-of", "kid": "unknown-type"],
    ]
}

/// Makes each key at its first use, once in the process.
///
/// Making an RSA key is slow, and tests start many simulators. All simulators share their keys; two carriers, or two
/// generations of one carrier's keys, never share one.
final class KeyPool: Sendable {
    struct Slot: Hashable, Sendable {
        enum Purpose: Hashable, Sendable {
            case signing(CarrierSimulator.Carrier.SigningAlgorithm)
            /// Published beside the signing key and never used to sign.
            case decoy(CarrierSimulator.Carrier.SigningAlgorithm, Int)
            /// An RSA key of 1024 bits.
            case weak
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
