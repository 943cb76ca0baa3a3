package import Primitives

/// An entry of the audit log: what was done to which user, by whom, and when.
///
/// Events are only added, and removed after the retention time. They contain no secret and no subject in clear text: an
/// identity appears as its ``Identity/fingerprint``. When a user is erased, the details of the user's events are.
package struct AuditEvent: Sendable, Hashable {
    package let time: Timestamp
    package let kind: Kind
    /// The user it was done to. The number outlives the user and is never reused.
    package let user: UserID?
    package let actor: Actor
    /// Finds the request in the log: the correlation id of a sign-in, else the request id; nil if there was none.
    package let requestID: String?
    package let details: AuditDetails

    package init(
        at time: Timestamp, _ kind: Kind, user: UserID?, by actor: Actor, requestID: String? = nil,
        details: AuditDetails = AuditDetails()
    ) {
        self.time = time
        self.kind = kind
        self.user = user
        self.actor = actor
        self.requestID = requestID
        self.details = details
    }

    /// What was done. An open set: each feature declares its kinds in an extension, as `thing.participle`.
    package struct Kind: Sendable, Hashable, CustomStringConvertible {
        package let name: String

        package init(_ name: String) { self.name = name }

        package var description: String { name }
    }

    /// Who did it.
    package struct Actor: Sendable, Hashable, CustomStringConvertible {
        package let name: String

        /// The user, with their own session or sign-in.
        package static let user = Actor(name: "user")
        /// Latchkey itself, such as at an expiry.
        package static let latchkey = Actor(name: "latchkey")

        /// Another service or app, by its client id.
        package static func client(_ id: String) -> Actor { Actor(name: "client:" + id) }

        /// A person at the command line, by their account on the operating system.
        package static func operating(_ name: String) -> Actor { Actor(name: "operator:" + name) }

        package init(name: String) { self.name = name }

        package var description: String { name }
    }
}

extension AuditEvent.Kind {
    /// A user signed in or registered, if sign-ins are recorded.
    package static let sessionCreated = AuditEvent.Kind("session.created")
    /// A user signed out, if sign-ins are recorded.
    package static let signedOut = AuditEvent.Kind("session.signed_out")
    package static let userErased = AuditEvent.Kind("user.erased")
    /// A sign-in changed the profile to what the provider says.
    package static let userUpdated = AuditEvent.Kind("user.updated")
    /// An administrator put this account into another one, and erased it.
    package static let userMergedAway = AuditEvent.Kind("user.merged_away")

    /// The first event after a migration, if all earlier ones had expired.
    package static let databaseMigrated = AuditEvent.Kind("database.migrated")

    /// The kinds that every sign-in and sign-out has. Their details identify no person, so that they stay when the user
    /// is erased. Therefore these events need no salt, and no index by user, which saves work at each sign-in.
    package static let ofSessions = [sessionCreated, signedOut]

    package var isOfSessions: Bool { self == .sessionCreated || self == .signedOut }

    /// Whether the details of the user's earlier events were erased with the user.
    package var erasesUser: Bool { self == .userErased || self == .userMergedAway }
}

extension JSONObjectWriter {
    /// Adds what later tells whose erasure it was. The user's row is gone then, and who still waits for earlier events
    /// of the user knows the user by the public id.
    package mutating func add(erased user: User) {
        add("public_id", user.publicID)
    }
}

/// Further details of an audit event: the members of one JSON object.
package struct AuditDetails: Sendable, Hashable, CustomStringConvertible {
    /// The object's text.
    package let json: String

    package init() { json = "{}" }

    /// - Parameter members: Writes the members, without secrets and subjects.
    package init(_ members: (inout JSONObjectWriter) -> Void) {
        var writer = JSONObjectWriter()
        members(&writer)
        json = String(decoding: writer.finish(), as: UTF8.self)
    }

    package init(recorded json: String) { self.json = json }

    package var description: String { json }

    /// The length of a salt, in bytes.
    package static let saltBytes = 16

    /// What stands for the details in an event's digest: the SHA-256 of the salt and the details. An erasure
    /// removes the details and the salt: without the salt, nobody can guess the details from the digest.
    package func digest(salt: [UInt8]) -> [UInt8] {
        let salted = salt + Array(json.utf8)
        return salted.withUnsafeBufferPointer { TokenHash(sha256Of: $0).bytes }
    }
}

/// A stored audit event.
package struct RecordedAuditEvent: Sendable, Hashable {
    /// The event's number; later events have higher numbers.
    package let serial: Int64
    package let event: AuditEvent
    /// Random bytes; nil if the details are erased or need none, or if a version without seals added the event and it
    /// is not sealed.
    package let salt: [UInt8]?
    /// The stored ``AuditDetails/digest(salt:)``; nil if the details need no salt, or if a version without seals added
    /// the event and it is not sealed.
    package let storedDigest: [UInt8]?

    package init(serial: Int64, event: AuditEvent, salt: [UInt8]? = nil, detailsDigest: [UInt8]? = nil) {
        self.serial = serial
        self.event = event
        self.salt = salt
        storedDigest = detailsDigest
    }

    /// Whether the details stay when their user is erased, and have no salt.
    private var isPlain: Bool { salt == nil && storedDigest == nil && event.kind.isOfSessions }

    /// Whether it has a ``detailsDigest``.
    package var hasDigest: Bool { isPlain || storedDigest != nil }

    /// ``AuditDetails/digest(salt:)``; nil if a version without seals added the event and it is not sealed.
    package var detailsDigest: [UInt8]? { isPlain ? event.details.digest(salt: []) : storedDigest }

    /// Whether the details were erased with their user.
    package var isErased: Bool { salt == nil && storedDigest != nil }

    /// Whether the details match the stored digest, or were erased with a user.
    package var matchesItsDigest: Bool {
        if isPlain { return true }
        guard let salt else { return event.details == AuditDetails() && (!isErased || event.user != nil) }
        return salt.count == AuditDetails.saltBytes && event.details.digest(salt: salt) == storedDigest
    }
}

/// A query for audit events that meet every given condition.
package struct AuditQuery: Sendable, Hashable {
    package var user: UserID?
    package var kind: AuditEvent.Kind?
    /// Events of this moment and later.
    package var since: Timestamp?
    /// Events before this moment.
    package var until: Timestamp?
    /// Events before the one of this number: for the next page.
    package var before: Int64?
    /// The most events, the latest first; 1 to 10,000.
    package var limit: Int

    package init(
        user: UserID? = nil, kind: AuditEvent.Kind? = nil, since: Timestamp? = nil, until: Timestamp? = nil,
        before: Int64? = nil, limit: Int = 100
    ) {
        self.user = user
        self.kind = kind
        self.since = since
        self.until = until
        self.before = before
        self.limit = limit
    }
}
