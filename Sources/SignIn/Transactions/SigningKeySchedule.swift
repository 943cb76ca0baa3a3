import Primitives

/// Decides when signing keys come, sign and go, so that whoever verifies with keys that were fetched a while ago never
/// meets a signature by a key that was not there yet.
///
/// A key is published for ``overlap`` before it signs, and for as long after its successor has begun to sign. Pure:
/// the keys and the time are given.
struct SigningKeySchedule: Sendable {
    /// Seconds between a key's publication and its first signature, and between its last one and its removal: a day,
    /// which is far more than the hour that key sets may be cached for and the hour that receipts may hold.
    static let overlap: Int64 = 86_400
    /// Seconds by which a key that is needed at once is dated back, for other processes whose clocks are slower.
    private static let clockTolerance: Int64 = 300

    /// For how many seconds a key signs; two days or more.
    let lifetime: Int64

    struct Key: Sendable, Hashable {
        let id: String
        let signsFrom: Timestamp
        /// Whether this process can sign with it.
        let isUsable: Bool
        /// Whether it is stored as the configuration wants it stored.
        let isProtectedAsWanted: Bool
    }

    /// The key to sign with, of keys in the order in which they were added; nil if a new one is needed at once.
    func signer(among keys: [Key], at now: Timestamp) -> Key? {
        keys.last { $0.isUsable && $0.signsFrom <= now }
    }

    /// From when on a key would sign that is to be added now; nil if none is due.
    func startOfNext(after keys: [Key], at now: Timestamp) -> Timestamp? {
        guard signer(among: keys, at: now) != nil else { return now.advanced(bySeconds: -Self.clockTolerance) }
        // At most one key waits: so processes that disagree on what is wanted add one a day, and not one a minute.
        guard let newest = keys.last, newest.signsFrom <= now else { return nil }
        let end = newest.signsFrom.advanced(bySeconds: lifetime - Self.overlap)
        guard end <= now || !newest.isUsable || !newest.isProtectedAsWanted else { return nil }
        return now.advanced(bySeconds: Self.overlap)
    }

    /// The keys by which nothing that still holds was signed.
    func outdated(among keys: [Key], at now: Timestamp) -> [Key] {
        let successor = keys.lastIndex { $0.isUsable && $0.signsFrom.advanced(bySeconds: Self.overlap) <= now }
        return successor.map { Array(keys[..<$0]) } ?? []
    }
}
