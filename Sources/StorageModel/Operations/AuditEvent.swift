public import Primitives

/// Something that was done to an account, for the record: what, to whom, by whom, and when.
///
/// Events are only ever added; they go when the retention is over. No secret and no subject in clear stands in them: an
/// identity is named by its ``Identity/fingerprint``.
///
/// ```swift
/// try await store.addAuditEvent(
///     AuditEvent(at: now, .userErased, user: id, by: .user, requestID: requestID))
/// ```
public struct AuditEvent: Sendable, Hashable {
    public let time: Timestamp
    public let kind: Kind
    /// The user it was done to. The number outlives the user, and is never given to another.
    public let user: UserID?
    public let actor: Actor
    /// Finds the request in the log: the correlation id of a sign-in, else the request id; nil where there was none.
    public let requestID: String?
    public let details: AuditDetails

    public init(
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

    /// What was done. An open set: each feature names its own kinds in an extension, as `thing.participle`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let name: String

        public init(_ name: String) {
            self.name = name
        }

        public var description: String { name }
    }

    /// Who did it.
    public struct Actor: Sendable, Hashable, CustomStringConvertible {
        public let name: String

        /// The user, with a session or a sign-in of their own.
        public static let user = Actor(name: "user")
        /// Latchkey itself, such as when something has expired.
        public static let latchkey = Actor(name: "latchkey")

        /// Another service or app, by its client id.
        public static func client(_ id: String) -> Actor { Actor(name: "client:" + id) }

        /// A person at the command line, by the name the operating system knows.
        public static func operating(_ name: String) -> Actor { Actor(name: "operator:" + name) }

        package init(name: String) {
            self.name = name
        }

        public var description: String { name }
    }
}

/// What else is to be said of an audit event: the members of one JSON object.
public struct AuditDetails: Sendable, Hashable, CustomStringConvertible {
    /// The object's text.
    public let json: String

    public init() {
        json = "{}"
    }

    /// - Parameter members: Writes the members. Neither secrets nor subjects belong there.
    public init(_ members: (inout JSONObjectWriter) -> Void) {
        var writer = JSONObjectWriter()
        members(&writer)
        json = String(decoding: writer.finish(), as: UTF8.self)
    }

    package init(recorded json: String) {
        self.json = json
    }

    public var description: String { json }
}

/// An audit event as it stands in the record.
public struct RecordedAuditEvent: Sendable, Hashable {
    /// Counts the events; a later one has a higher number.
    public let serial: Int64
    public let event: AuditEvent

    public init(serial: Int64, event: AuditEvent) {
        self.serial = serial
        self.event = event
    }
}

/// Which audit events are wanted; all that fit every condition given.
public struct AuditQuery: Sendable, Hashable {
    public var user: UserID?
    public var kind: AuditEvent.Kind?
    /// Events of this moment and later.
    public var since: Timestamp?
    /// Events before this moment.
    public var until: Timestamp?
    /// Events older than the one of this number: for the next page.
    public var before: Int64?
    /// At most so many, the latest first; 1 to 10,000.
    public var limit: Int

    public init(
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
