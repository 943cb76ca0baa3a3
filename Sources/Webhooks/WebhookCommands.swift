import ArgumentParser
import CommandLineSupport
package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
import Storage
import StorageModel

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Shows how far webhooks are, and sends events again.",
        discussion: """
            Works on the configured database, also while servers run.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """,
        subcommands: [ListWebhooksCommand.self, ReplayWebhookCommand.self])
}

struct ListWebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the endpoints, with what waits for each.",
        discussion: "The number of waiting events is counted up to 100000.")

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format, ifEmpty: "No webhook is configured.") {
            try await $0.listWebhooks($1)
        }
    }
}

struct ReplayWebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Sends the events of an endpoint again, from one of them on.",
        discussion: """
            All events from there on are sent again, in order and with the ids that they had. A running server begins \
            within seconds. The change is written to the audit log. Without --apply the command only counts the events.
            """)

    @Argument(help: "The name of the endpoint, as latchkey webhooks list shows it.")
    var endpoint: String

    @Option(
        help: ArgumentHelp(
            "Of this time and later: 2026-11-21, 2026-11-21T01:02:03Z, or an age such as 24h or 7d.",
            valueName: "time"))
    var since: String?

    @Option(
        help: ArgumentHelp(
            "From this event on: the webhook-id of a message, or the serial of the audit log.", valueName: "id"))
    var from: String?

    @Flag(help: "Send the events again; without it, the command only counts them.")
    var apply = false

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: FormatOptions

    func validate() throws {
        guard (since == nil) != (from == nil) else { throw ValidationError("give either --since or --from") }
    }

    func run() async throws {
        try await runAdminCommand(options, as: output.format) { [endpoint, since, from, apply] admin, configuration in
            try await admin.replayWebhook(endpoint, configuration, since: since, from: from, applies: apply)
        }
    }
}

extension AdminService {
    private static let mostCounted = 100_000

    /// How far each endpoint is.
    package func listWebhooks(_ configuration: Configuration) async throws -> CommandReport {
        let now = clock.now()
        let last = try await store.auditHorizon().serial
        var report = CommandReport(text: [], json: [])
        for endpoint in configuration[WebhookSettings.self].endpoints {
            let row = try await store.webhook(endpoint.name)
            let backlog = try await store.webhookBacklog(endpoint.name)
            let waiting = try await store.countWebhookEvents(
                after: row?.cursor ?? last, through: last, limit: Self.mostCounted)
            let holder = row.flatMap { $0.isHeld(at: now, WebhookWorker.leaseSeconds) ? $0.holder : nil }
            var lines = [
                "\(endpoint.name)",
                "  delivered through event \(row.map { "#\($0.cursor)" } ?? "none: no server has begun"), "
                    + "events after it: \(waiting), users that wait: \(backlog.count)",
                "  delivered: \(row?.delivered ?? 0), given up: \(row?.dropped ?? 0), "
                    + (holder == nil ? "no server delivers now" : "a server delivers"),
            ]
            if let row, let failedAt = row.failedAt, let error = row.error {
                lines.append("  last error: \(UTCTime.text(failedAt)) \(error)")
            }
            report.text += lines.map { $0.onOneLine() }
            report.json.append(
                JSONObjectWriter.text { json in
                    json.add("endpoint", endpoint.name)
                    json.add("url", String(endpoint.url.text.prefix { $0 != "?" }))
                    json.add("events", WebhookType.allCases.filter(endpoint.types.contains).map(\.rawValue))
                    if let row { json.add("serial", row.cursor) }
                    json.add("waiting_events", waiting)
                    json.add("waiting_users", backlog.count)
                    json.add("delivered", row?.delivered ?? 0)
                    json.add("dropped", row?.dropped ?? 0)
                    json.add("is_delivering", holder != nil)
                    json.add("delivered_at", ifPresent: row?.deliveredAt.map(UTCTime.text))
                    json.add("failed_at", ifPresent: row?.failedAt.map(UTCTime.text))
                    json.add("error", ifPresent: row?.error)
                })
        }
        return report
    }

    /// Has the events of an endpoint sent again.
    /// - Throws: ``AdministratorError`` for an unknown endpoint, an invalid time or id; `StorageError`.
    package func replayWebhook(
        _ name: String, _ configuration: Configuration, since: String?, from: String?, applies: Bool
    ) async throws -> CommandReport {
        let names = configuration[WebhookSettings.self].endpoints.map(\.name)
        guard names.contains(name), let row = try await store.webhook(name) else {
            throw AdministratorError(
                names.contains(name)
                    ? "no server has begun to deliver to \(name), so there is nothing to send again"
                    : "there is no endpoint \(name.debugDescription); latchkey webhooks list shows them")
        }
        let serial: Int64
        if let from {
            guard let number = from.isDecimal ? Int64(from) : WebhookEvent.serial(ofID: from), number > 0 else {
                throw AdministratorError(
                    .usage, "\(from.debugDescription) is neither a webhook-id nor a serial of the audit log")
            }
            serial = number - 1
        } else {
            serial = try await store.webhookSerial(before: try moment(since ?? ""))
        }
        let count = try await store.countWebhookEvents(after: serial, through: row.cursor, limit: Self.mostCounted)
        if applies {
            let event = event(.webhookReplayed) { json in
                json.add("endpoint", name)
                json.add("after_serial", serial)
            }
            guard try await store.replayWebhook(name, after: serial, recording: event) else {
                throw AdministratorError("the endpoint \(name) is gone")
            }
        }
        let lines = ["\(name): \(count) events after #\(serial) \(applies ? "are" : "would be") sent again."]
        return report(lines, applies: applies) { json in
            json.add("endpoint", name)
            json.add("after_serial", serial)
            json.add("events", count)
        }
    }
}
