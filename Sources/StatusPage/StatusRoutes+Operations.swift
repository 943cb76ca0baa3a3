import HTTPTypes
import LatchkeyAPI

extension StatusRoutes {
    static let operations = [
        APIOperation(
            .get, "/status", "status", .operation, .open, "The status page",
            """
            For browsers on the server's own machine, and for API keys with `operator`. Shows `/status/events`.
            """,
            responses: [.text("text/html", "The page.")], refusals: APIRefusal.ofAdministratorPages),
        APIOperation(
            .get, "/status/events", "statusEvents", .operation, .open, "The status as it changes",
            """
            Server-sent events: `status` with JSON of carriers, of the last hour's sign-ins by minute, of recent \
            failures, sessions and load, every two seconds if something has changed. At most sixteen watchers at a \
            time. Same access as `/status`.
            """,
            responses: [.text("text/event-stream", "Events, until the connection ends.")],
            refusals: APIRefusal.ofAdministratorPages),
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
                        ["capsule": .integer("The format.", example: 2)], isOpen: true), example: #"{"capsule": 2}"#),
                .text("text/html", "A page, for a browser."),
            ],
            refusals: APIRefusal.ofAdministratorPages + [APIRefusal(APIError.noCapsule, as: "capsule_unknown")]),
    ]
}
