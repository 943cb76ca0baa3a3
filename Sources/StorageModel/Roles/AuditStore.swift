package import Primitives

/// The audit log.
package protocol AuditStore: Sendable {
    /// Adds an event. A call that changes an account adds its own event in the same transaction instead.
    func addAuditEvent(_ event: AuditEvent) async throws(StorageError)

    /// The events that match a query, the latest first.
    func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent]

    /// Removes at most `limit` of the oldest events from before a moment, and as many of the seals of that time; the
    /// newest seal stays. Returns the number of removed rows. Only for a server that does not seal the log.
    func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int
}
