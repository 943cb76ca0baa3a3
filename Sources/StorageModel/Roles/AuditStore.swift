package import Primitives

/// The audit record.
package protocol AuditStore: Sendable {
    /// Adds an event. A call that changes an account adds its own event in the same transaction instead.
    func addAuditEvent(_ event: AuditEvent) async throws(StorageError)

    /// The events that match a query, the latest first.
    func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent]

    /// Removes at most `limit` events from before a moment. Returns their number.
    func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int
}
