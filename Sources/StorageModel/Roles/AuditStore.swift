package import Primitives

/// The audit log.
package protocol AuditStore: Sendable {
    /// Adds an event. A call that changes an account adds its own event in the same transaction instead.
    func addAuditEvent(_ event: AuditEvent) async throws(StorageError)

    /// The events that match a query, the latest first.
    func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent]

    /// At most `limit` events with serials above `serial`, up to `end`, in order. `Int64.min` is before all events.
    func auditEvents(
        after serial: Int64, through end: Int64, limit: Int
    ) async throws(StorageError) -> [RecordedAuditEvent]

    /// Gives a salt and the digest of the details to those of the first `limit` such events that have none, because a
    /// version without seals added them.
    func saltAuditEvents(after serial: Int64, through end: Int64, limit: Int) async throws(StorageError)

    /// How far the events can be sealed.
    func auditHorizon() async throws(StorageError) -> AuditHorizon

    /// The seal with the highest number; nil if there is none.
    func newestAuditSeal() async throws(StorageError) -> AuditSealRecord?

    /// At most `limit` seals with numbers above `number`, in order. `Int64.min` is before all seals.
    func auditSeals(after number: Int64, limit: Int) async throws(StorageError) -> [AuditSealRecord]

    /// Adds a seal. False if there is one with its number.
    func addAuditSeal(_ seal: AuditSealRecord) async throws(StorageError) -> Bool

    /// Removes the oldest seals with their events, while all events of a seal are from before a moment; the newest seal
    /// stays. Ends after the seal with which `limit` rows were removed. Returns the number of removed rows.
    func purgeAuditSeals(from before: Timestamp, limit: Int) async throws(StorageError) -> Int
}

/// The capsules of failed sign-ins.
package protocol CapsuleStore: Sendable {
    /// Adds a capsule.
    func addCapsule(_ capsule: CapsuleRecord) async throws(StorageError)

    /// The latest capsules, newest first, at most `limit`.
    /// - Parameter correlationID: Only those of this sign-in; nil for all.
    func capsules(of correlationID: String?, limit: Int) async throws(StorageError) -> [CapsuleRecord]

    /// Removes at most `limit` capsules that are from before a moment, or are too many for `count` to be left. Returns
    /// their number.
    ///
    /// Of too many, the oldest of the causes with the most go first: each cause keeps its newest, and as many as the
    /// others. So a flood with one cause leaves those with others.
    func purgeCapsules(from before: Timestamp, keeping count: Int, limit: Int) async throws(StorageError) -> Int
}
