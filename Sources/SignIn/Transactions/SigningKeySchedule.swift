import Primitives

/// Decides when signing keys are added, sign and are removed, so that a verifier with a cached key set never meets a
/// signature of an unpublished key.
///
/// A key is published for ``overlap`` before it signs, and as long after its successor begins to sign. Pure: it takes
/// the keys and the time as arguments.
struct SigningKeySchedule: Sendable {
    /// The seconds from a key's publication to its first signature, and from its last signature to its removal: a day,
    /// far more than the hour that key sets may be cached and the hour that receipts may last.
    static let overlap: Int64 = 86_400
    /// The seconds by which a key needed at once is backdated, for processes whose clocks are behind.
    private static let clockTolerance: Int64 = 300

    /// How long a key signs, in seconds; two days or more.
    let lifetime: Int64

    struct Key: Sendable, Hashable {
        let id: String
        let signsFrom: Timestamp
        /// Whether this process can sign with it.
        let isUsable: Bool
        /// Whether it is stored in the configured form.
        let isProtectedAsWanted: Bool
    }

    /// The key to sign with, among keys in the order of their addition; nil if a new one is needed at once.
    func signer(among keys: [Key], at now: Timestamp) -> Key? {
        keys.last { $0.isUsable && $0.signsFrom <= now }
    }

    /// When a key added now would begin to sign; nil if none is due.
    func startOfNext(after keys: [Key], at now: Timestamp) -> Timestamp? {
        guard signer(among: keys, at: now) != nil else { return now.advanced(bySeconds: -Self.clockTolerance) }
        // At most one key waits to sign, so that processes with different configurations add one a day, not one a
        // minute.
        guard let newest = keys.last, newest.signsFrom <= now else { return nil }
        let end = newest.signsFrom.advanced(bySeconds: lifetime - Self.overlap)
        guard end <= now || !newest.isUsable || !newest.isProtectedAsWanted else { return nil }
        return now.advanced(bySeconds: Self.overlap)
    }

    /// The keys that signed nothing that is still valid.
    func outdated(among keys: [Key], at now: Timestamp) -> [Key] {
        let successor = keys.lastIndex { $0.isUsable && $0.signsFrom.advanced(bySeconds: Self.overlap) <= now }
        return successor.map { Array(keys[..<$0]) } ?? []
    }
}
