import HTTPTypes
import Primitives

extension APIOperation {
    static let ofOperation: [APIOperation] = [
        APIOperation(
            .get, "/healthz", "health", .operation, .open, "Is the process up?", "Never limited.",
            responses: [status("ok", "It is.")]),
        APIOperation(
            .get, "/readyz", "readiness", .operation, .open, "Can it serve?",
            "503 while the server is about to stop or cannot reach its database. Never limited.",
            responses: [status("ready", "It can.")]),
        APIOperation(
            .get, "/metrics", "metrics", .operation, .open, "Metrics for Prometheus",
            "For the addresses of `metrics.allowed_addresses` only, and not if `metrics.port` is set. Never limited.",
            responses: [.text("text/plain", "The Prometheus text format, version 0.0.4.")], refusals: [.pathUnknown]),
        APIOperation(
            .get, "/status", "status", .operation, .open, "The status page",
            """
            For browsers on the server's own machine, and for API keys with `operator`. Shows `/status/events`.
            """,
            responses: [.text("text/html", "The page.")], refusals: ofStatus),
        APIOperation(
            .get, "/status/events", "statusEvents", .operation, .open, "The status as it changes",
            """
            Server-sent events: `status` with JSON of carriers, of the last hour's sign-ins by minute, of recent \
            failures, sessions and load, every two seconds if something has changed. At most sixteen watchers at a \
            time. Same access as `/status`.
            """,
            responses: [.text("text/event-stream", "Events, until the connection ends.")], refusals: ofStatus),
        APIOperation(
            .get, "/status/capsule", "statusCapsule", .operation, .open, "The capsule of a failure",
            """
            What was requested, received and checked, without secrets and personal data: the capsule of a failure \
            that `/status` shows. Same access as `/status`. A browser gets a page for people, unless it asks for JSON.
            """,
            parameters: [
                .query("failure", isRequired: true, .text("As `/status` links it.", example: "9hSFpTSQ1oYvWmKk")),
                .query("format", .text("For JSON in a browser.", choices: ["json"])),
            ],
            responses: [
                .json(
                    "The capsule.",
                    .object(
                        "A capsule, as the manual of operation describes it.",
                        ["capsule": .integer("The format.", example: 1)], isOpen: true), example: #"{"capsule": 1}"#),
                .text("text/html", "A page, for a browser."),
            ],
            refusals: ofStatus + [APIRefusal(APIError.noCapsule, as: "capsule_unknown")]),
        APIOperation(
            .get, "/openapi.json", "document", .operation, .open, "This document", "`/api.html` shows it to people.",
            parameters: [.ifNoneMatch],
            responses: [
                .json(
                    "OpenAPI 3.1.",
                    .object(
                        "An OpenAPI document.", ["openapi": .text("The version of OpenAPI.", example: "3.1.0")],
                        isOpen: true), example: #"{"openapi": "3.1.0"}"#, headers: ["ETag"]),
                Response(status: .notModified, description: "Unchanged.", headers: ["Cache-Control", "ETag"]),
            ]),
    ]

    private static let ofStatus = [
        .pathUnknown, APIRefusal(APIError.invalidAPIKey), APIRefusal(APIError.notForOperators, as: "not_for_operators"),
    ]

    private static func status(_ text: String, _ description: String) -> Response {
        .json(
            description, .object("The status.", ["status": .always(.string(text), "Always.")]),
            example: #"{"status": "\#(text)"}"#)
    }
}
