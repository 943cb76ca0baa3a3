import HTTPTypes
import SignIn

extension APIOperation {
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
