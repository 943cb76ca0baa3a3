import HTTPTypes
import Primitives

extension APIOperation {
    static let ofOperation: [APIOperation] = [
        APIOperation(
            .get, "/healthz", "health", .operation, .open, "Is the process up?", "Never limited.",
            responses: [status("ok", "It is.")]),
        APIOperation(
            .get, "/readyz", "readiness", .operation, .open, "Can it serve?",
            "503 while the server is about to stop or cannot use its database. Never limited.",
            responses: [status("ready", "It can.")]),
        APIOperation(
            .get, "/metrics", "metrics", .operation, .open, "Metrics for Prometheus",
            "For the addresses of `metrics.allowed_addresses` only, and not if `metrics.port` is set. Never limited.",
            responses: [.text("text/plain", "The Prometheus text format, version 0.0.4.")], refusals: [.pathUnknown]),
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

    private static func status(_ text: String, _ description: String) -> Response {
        .json(
            description, .object("The status.", ["status": .always(.string(text), "Always.")]),
            example: #"{"status": "\#(text)"}"#)
    }

    static let ofPublishedKeys: [APIOperation] = [
        APIOperation(
            .get, "/.well-known/jwks.json", "showSigningKeys", .transactions, .open, "Latchkey's public keys",
            """
            The keys that verify receipts, and those of clients with a `private_key`, which verify client assertions \
            and signed requests. May be cached for an hour.
            """,
            parameters: [.ifNoneMatch],
            responses: [
                Response(
                    status: .ok, description: "A JSON Web Key Set.", contentType: "application/jwk-set+json",
                    schema: .named("KeySet"),
                    example: """
                        {"keys": [{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", \
                        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "use": "sig", "alg": "ES256", "kid": \
                        "4b1f"}]}
                        """, headers: ["Cache-Control", "ETag"]),
                Response(status: .notModified, description: "Unchanged.", headers: ["Cache-Control", "ETag"]),
            ])
    ]
}
