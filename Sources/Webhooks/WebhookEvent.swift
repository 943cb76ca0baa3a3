import Crypto
package import Primitives
package import StorageModel

/// The kinds of events that webhooks have.
package enum WebhookType: String, Sendable, Hashable, CaseIterable {
    case userCreated = "user.created"
    case userUpdated = "user.updated"
    case userDeleted = "user.deleted"
    case sessionCreated = "session.created"
    case sessionEnded = "session.ended"
    case identityLinked = "identity.linked"
    case identityUnlinked = "identity.unlinked"
    case identityMoved = "identity.moved"
    case phoneNumberVerified = "phone_number.verified"
    case phoneNumberReassigned = "phone_number.reassigned"

    static let securityEvent = "security_event.received"

    /// What an event of the audit log is sent as. A sign-in that registered its user is also a ``userCreated``.
    static let ofKinds: [String: WebhookType] = [
        "session.created": .sessionCreated,
        "user.edited": .userUpdated, "user.updated": .userUpdated, "user.merged": .userUpdated,
        "user.erased": .userDeleted, "user.merged_away": .userDeleted,
        "session.signed_out": .sessionEnded, "session.revoked": .sessionEnded,
        "session.others_revoked": .sessionEnded, "session.all_revoked": .sessionEnded,
        "session.ended_by_provider": .sessionEnded, "refresh_token.reused": .sessionEnded,
        // Only one that ended sessions.
        securityEvent: .sessionEnded,
        "identity.linked": .identityLinked, "identity.unlinked": .identityUnlinked,
        "identity.moved": .identityMoved, "identity.move_undone": .identityMoved, "identity.relinked": .identityMoved,
        "phone_number.verified": .phoneNumberVerified, "phone_number.reassigned": .phoneNumberReassigned,
    ]

    /// Its causes, in order; none if it has one kind.
    var causes: [String] {
        switch self {
        case .userUpdated, .userDeleted, .sessionEnded, .identityMoved:
            Self.ofKinds.filter { $0.value == self }.map(\.key).sorted()
        default: []
        }
    }

    /// The members of the details of an audit event that other systems may have, and what they are called there: no
    /// numbers of users, no fingerprints of identities and no reasons of administrators.
    var members: [(stored: String, sent: String)] {
        switch self {
        case .userCreated, .sessionCreated:
            [("session_id", "session_id"), ("client_id", "client_id"), ("issuer", "issuer")]
        case .userUpdated: [("attributes", "attributes"), ("issuer", "issuer"), ("public_id", "merged_user_id")]
        case .userDeleted: []
        case .sessionEnded:
            [
                ("session_id", "session_id"), ("session", "session_id"), ("kept_session_id", "kept_session_id"),
                ("client_id", "client_id"),
            ]
        case .identityLinked, .identityUnlinked, .phoneNumberVerified: [("issuer", "issuer")]
        case .identityMoved: [("from_issuer", "from_issuer"), ("to_issuer", "issuer")]
        case .phoneNumberReassigned: []
        }
    }

    /// Whether the audit log has all such events only with `audit.sign_ins`.
    var needsSignIns: Bool {
        switch self {
        case .userCreated, .sessionCreated, .sessionEnded: true
        default: false
        }
    }
}

/// An event of the audit log, as webhooks need it.
package struct WebhookEvent: Sendable, Hashable {
    package let serial: Int64
    package let user: UserID
    package let time: Timestamp
    package let kind: String
    package let actor: AuditEvent.Actor
    package let requestID: String?
    package let details: AuditDetails
    /// Nil if it cannot be found any more: an earlier version erased the user.
    package let publicID: String?
    /// Whether the user was erased since. The details are gone then, but those of sign-ins and sign-outs.
    package let isErased: Bool

    package init(
        serial: Int64, user: UserID, time: Timestamp, kind: String, actor: AuditEvent.Actor = .user,
        requestID: String? = nil, details: AuditDetails = AuditDetails(), publicID: String?, isErased: Bool = false
    ) {
        self.serial = serial
        self.user = user
        self.time = time
        self.kind = kind
        self.actor = actor
        self.requestID = requestID
        self.details = details
        self.publicID = publicID
        self.isErased = isErased
    }

    /// What is sent for it to an endpoint, in this order; none if the endpoint gets no such event.
    /// - Parameter salt: The endpoint's, for the ids.
    package func messages(of types: Set<WebhookType>, salt: String) -> [WebhookMessage] {
        guard let type = WebhookType.ofKinds[kind], let publicID else { return [] }
        let details = (try? JSONValue(parsing: Array(details.json.utf8)))?.object
        if kind == WebhookType.securityEvent, details?["sessions"]?.integer ?? 0 == 0 { return [] }
        let isRegistration = details?["new_user"] == .bool(true)
        let sent = type == .sessionCreated && isRegistration ? [.userCreated, type] : [type]
        return sent.filter(types.contains).map { type in
            WebhookMessage(
                id: id(as: type, salt: salt), body: body(as: type, for: publicID, details))
        }
    }

    /// Always the same for an event and an endpoint, so that a receiver knows one that it has. The time is part of it,
    /// because a database that was restored from a backup gives the serials of lost events to others.
    private func id(as type: WebhookType, salt: String) -> String {
        let digest = SHA256.hash(
            data: Array("latchkey webhook 1,\(salt),\(serial),\(time.secondsSinceEpoch),\(type.rawValue)".utf8))
        return "msg_\(serial)_\(digest.prefix(12).hexadecimal)"
    }

    /// The serial in the id of a message; nil if the text is not such an id.
    package static func serial(ofID id: String) -> Int64? {
        let parts = id.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "msg", parts[1].isDecimal else { return nil }
        return Int64(parts[1])
    }

    private func body(as type: WebhookType, for publicID: String, _ details: JSONObject?) -> [UInt8] {
        var json = JSONObjectWriter(capacity: 384)
        json.add("type", type.rawValue)
        json.add("timestamp", UTCTime.text(time))
        json.add("data") { json in
            json.add("user_id", publicID)
            if !type.causes.isEmpty { json.add("cause", kind) }
            json.add("by", actor.shown)
            json.add("request_id", ifPresent: requestID)
            if isErased { json.add("erased", true) }
            for (stored, sent) in type.members {
                if let value = details?[stored] { json.add(named: sent, json: value.text) }
            }
        }
        return json.finish()
    }
}

extension AuditEvent.Actor {
    /// Without the account of an administrator.
    fileprivate var shown: String { name.hasPrefix("operator:") ? "administrator" : name }
}

/// What is posted.
package struct WebhookMessage: Sendable, Hashable {
    package let id: String
    package let body: [UInt8]
}

/// The signature of Standard Webhooks.
package enum WebhookSignature {
    private static let prefix = "whsec_"

    /// The bytes of a secret; nil if it is not one.
    static func key(of secret: Secret) -> SymmetricKey? {
        let text = secret.exposed
        guard text.hasPrefix(prefix) else { return nil }
        let base64 = text.dropFirst(prefix.count)
        let unpadded = base64.prefix { $0 != "=" }
        let digits = unpadded.replacing("+", with: "-").replacing("/", with: "_")
        guard let bytes = Base64URL.decode(digits.utf8), (24...64).contains(bytes.count) else { return nil }
        // With or without its padding, and in no other alphabet.
        let text64 = Base64.encode(bytes)
        return base64 == text64 || base64 == text64.prefix { $0 != "=" } ? SymmetricKey(data: bytes) : nil
    }

    /// `webhook-signature`: one signature for each key.
    static func field(_ message: WebhookMessage, at time: Timestamp, _ keys: [SymmetricKey]) -> String {
        let content = Array("\(message.id).\(time.secondsSinceEpoch).".utf8) + message.body
        return keys.map { key in
            "v1," + Base64.encode(Array(HMAC<SHA256>.authenticationCode(for: content, using: key)))
        }.joined(separator: " ")
    }
}
