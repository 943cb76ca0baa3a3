import HTTPTypes
import Primitives

extension APIOperation {
    static let ofOperation: [APIOperation] = [
        APIOperation(
            .get, "/healthz", "health", .operation, .open, "Is the process up?", "Never limited.",
            answers: [status("ok", "It is.")]),
        APIOperation(
            .get, "/readyz", "readiness", .operation, .open, "Can it serve?",
            "503 while the server is about to stop, or cannot reach its records. Never limited.",
            answers: [status("ready", "It can.")]),
        APIOperation(
            .get, "/metrics", "metrics", .operation, .open, "Metrics for Prometheus",
            "To the addresses of `metrics.allowed_addresses` only, and to nobody where `metrics.port` is set. Never limited.",
            answers: [
                Answer(
                    status: .ok, description: "Prometheus' text format, version 0.0.4.", contentType: "text/plain",
                    schema: .text("Metrics, a line each."), headers: ["Cache-Control"])
            ], refusals: [.pathUnknown]),
        APIOperation(
            .get, "/status", "status", .operation, .open, "A page that shows how the server is",
            "For browsers on the server's own machine, and for API keys with `operator`. It shows what `/status/events` brings.",
            answers: [
                Answer(
                    status: .ok, description: "The page.", contentType: "text/html", schema: .text("A page"),
                    headers: ["Cache-Control"])
            ], refusals: [.pathUnknown, APIRefusal(.invalidAPIKey), APIRefusal(.notForOperators)]),
        APIOperation(
            .get, "/status/events", "statusEvents", .operation, .open, "How the server is, as it changes",
            """
            Server-sent events: `status` with JSON of carriers, of the last hour's sign-ins by minute, of recent failures, \
            sessions and load, every two seconds where something has changed. Sixteen may watch at a time. For \
            whomever `/status` is for.
            """,
            answers: [
                Answer(
                    status: .ok, description: "Events, until the connection ends.", contentType: "text/event-stream",
                    schema: .text("Events."), headers: ["Cache-Control"])
            ], refusals: [.pathUnknown, APIRefusal(.invalidAPIKey), APIRefusal(.notForOperators)]),
        APIOperation(
            .get, "/openapi.json", "document", .operation, .open, "This document", "`/api.html` shows it to people.",
            parameters: [.header("If-None-Match", .text("The `ETag` of what is there already."))],
            answers: [
                Answer(
                    status: .ok, description: "OpenAPI 3.1.",
                    schema: .object(
                        "An OpenAPI document.",
                        [.required("openapi", .text("The version of OpenAPI.", example: "3.1.0"))], isOpen: true),
                    example: #"{"openapi": "3.1.0"}"#, headers: ["Cache-Control", "ETag"]),
                Answer(status: .notModified, description: "It is as it was.", headers: ["Cache-Control", "ETag"]),
            ]),
    ]

    private static func status(_ text: String, _ description: String) -> Answer {
        .json(
            .ok, description, .object("How it is.", [.required("status", .always(.string(text), "That."))]),
            example: #"{"status": "\#(text)"}"#)
    }
}
