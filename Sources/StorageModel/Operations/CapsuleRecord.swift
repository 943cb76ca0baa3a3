package import Primitives

/// The stored capsule of a failed sign-in: what was requested, received and checked, without secrets and personal data.
package struct CapsuleRecord: Sendable, Hashable {
    /// The correlation id of the sign-in. Several failures may have the same.
    package let correlationID: String
    package let time: Timestamp
    /// What failed, and where. Capsules with the same cause displace one another first.
    package let cause: String
    /// One JSON object.
    package let json: String

    package init(correlationID: String, time: Timestamp, cause: String, json: String) {
        self.correlationID = correlationID
        self.time = time
        self.cause = cause
        self.json = json
    }
}
