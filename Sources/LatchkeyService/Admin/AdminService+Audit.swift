package import ArgumentParser
package import Primitives
import Storage
import StorageModel

extension AdminService {
    /// A selection of the audit log: options of `latchkey audit`.
    package struct AuditSelection: ParsableArguments {
        @Option(help: "Only events of this user.")
        package var user: Int64?

        @Option(help: "Only events of this kind, such as identity.moved.", completion: .list(AdminService.auditKinds))
        package var kind: String?

        @Option(help: "Only events since this time: 2026-11-21, 2026-11-21T01:02:03Z, or an age such as 24h or 7d.")
        package var since: String?

        @Option(help: "Only events before this time.")
        package var until: String?

        @Option(help: "The most events, 1 to 10000 (default: 100).")
        package var limit: Int?

        package init() {}
    }

    /// The kinds of event that this version records. A test compares them with the sources.
    package static let auditKinds = [
        "api_key.created", "api_key.revoked", "configuration.reloaded", "database.migrated", "identity.link_refused",
        "identity.linked", "identity.move_undone", "identity.moved", "identity.moved_refused", "identity.relinked",
        "identity.unlinked", "phone_number.reassigned", "phone_number.verified", "provider_grant.ended",
        "refresh_token.reused", "security_event.received", "server.started", "server.stopped", "session.all_revoked",
        "session.created", "session.ended_by_provider", "session.others_revoked", "session.revoked",
        "session.signed_out", "signing_key.created", "signing_key.removed", "user.edited", "user.erased", "user.merged",
        "user.merged_away", "user.updated", "users.exported", "users.imported", "vault.rotated", "webhook.dropped",
        "webhook.replayed",
    ]

    private static let usualAuditLimit = 100

    /// The latest selected events, oldest first, one line each.
    /// - Throws: ``AdministratorError`` for an invalid time, a limit out of range, or an unknown kind; `StorageError`.
    package func audit(_ selection: AuditSelection) async throws -> CommandReport {
        let limit = selection.limit ?? Self.usualAuditLimit
        guard (1...10_000).contains(limit) else {
            throw AdministratorError(.usage, "the limit must be a number from 1 to 10000")
        }
        let query = AuditQuery(
            user: selection.user.map(UserID.init), kind: selection.kind.map(AuditEvent.Kind.init),
            since: try selection.since.map(moment), until: try selection.until.map(moment), limit: limit)
        let events = try await store.auditEvents(query).reversed()
        // The log may have kinds of another version.
        if let kind = selection.kind, !Self.auditKinds.contains(kind) {
            let all = AuditQuery(kind: AuditEvent.Kind(kind), limit: 1)
            guard try await !store.auditEvents(all).isEmpty else {
                throw AdministratorError(
                    .usage,
                    "there is no kind of event “\(kind)”; the kinds are \(Self.auditKinds.joined(separator: ", "))")
            }
        }
        return CommandReport(text: events.map(\.textLine), json: events.map(\.jsonLine))
    }

    /// The time of an option: a moment, a day or an age.
    package func moment(_ text: String) throws(AdministratorError) -> Timestamp {
        if let moment = UTCTime.moment(text) { return moment }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), text.utf8.count <= 10,
            text.dropLast().isDecimal, let count = Int64(text.dropLast())
        else {
            throw AdministratorError(
                .usage,
                "“\(text)” is not a time; write 2026-11-21, 2026-11-21T01:02:03Z, or an age such as 7d")
        }
        return clock.now().advanced(bySeconds: -count * unit)
    }
}

extension RecordedAuditEvent {
    fileprivate var textLine: String {
        var words = [UTCTime.text(event.time), "#\(serial)", event.kind.name]
        if let user = event.user { words.append("user=\(user.number)") }
        words.append("by=\(event.actor.name)")
        if let requestID = event.requestID { words.append("request=\(requestID)") }
        if isErased { words.append("(details erased)") }
        if event.details != AuditDetails() { words.append(event.details.json) }
        // The database may have anything.
        return words.joined(separator: " ").onOneLine()
    }

    fileprivate var jsonLine: String {
        JSONObjectWriter.text { json in
            json.add("serial", serial)
            json.add("time", UTCTime.text(event.time))
            json.add("kind", event.kind.name)
            if let user = event.user { json.add("user_id", user.number) }
            json.add("actor", event.actor.name)
            json.add("request_id", ifPresent: event.requestID)
            let details = try? JSONValue(parsing: Array(event.details.json.utf8))
            json.add("details", json: details?.text ?? JSONValue.string(event.details.json).text)
            if isErased { json.add("erased", true) }
        }
    }
}
