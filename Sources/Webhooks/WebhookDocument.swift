package import LatchkeyAPI
package import Primitives

/// The events in the OpenAPI document: one webhook for each type, with its headers and the schema of its body.
extension WebhooksFeature {
    package static var webhooks: [(name: String, value: JSONValue?)] {
        WebhookType.allCases.map { type in (type.rawValue, ["post": type.operation]) }
    }

    package static var schemas: KeyValuePairs<String, APISchema> {
        [
            "UserCreatedEvent": WebhookType.userCreated.schema, "UserUpdatedEvent": WebhookType.userUpdated.schema,
            "UserDeletedEvent": WebhookType.userDeleted.schema,
            "SessionCreatedEvent": WebhookType.sessionCreated.schema,
            "SessionEndedEvent": WebhookType.sessionEnded.schema,
            "IdentityLinkedEvent": WebhookType.identityLinked.schema,
            "IdentityUnlinkedEvent": WebhookType.identityUnlinked.schema,
            "IdentityMovedEvent": WebhookType.identityMoved.schema,
            "PhoneNumberVerifiedEvent": WebhookType.phoneNumberVerified.schema,
            "PhoneNumberReassignedEvent": WebhookType.phoneNumberReassigned.schema,
        ]
    }
}

extension WebhookType {
    /// The name of its schema: `SessionEndedEvent` of `session.ended`.
    var schemaName: String {
        let words = rawValue.split { $0 == "." || $0 == "_" }
        return words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() + "Event"
    }

    private var meaning: String {
        switch self {
        case .userCreated: "A sign-in or a registration made an account."
        case .userUpdated: "Attributes of a user changed."
        case .userDeleted: "An account was erased, or merged into another one."
        case .sessionCreated: "A user signed in or registered."
        case .sessionEnded: "A session was ended before its expiry."
        case .identityLinked: "A way to sign in was added to an account."
        case .identityUnlinked: "A way to sign in was removed from an account."
        case .identityMoved: "An account moved to another identity."
        case .phoneNumberVerified: "A mobile operator confirmed a user's number."
        case .phoneNumberReassigned: "A user's number belongs to somebody else now."
        }
    }

    fileprivate var operation: JSONValue {
        let body = JSONValue.object(of: [("schema", APISchema.named(schemaName).json), ("example", example)])
        return [
            "operationId": .string("receive" + schemaName), "summary": .string(meaning),
            "description": .string(
                "Sent to the endpoints of `webhooks`, at least once, as Standard Webhooks describes. A duplicate has "
                    + "the same `webhook-id`. The events of a user come in their order."),
            "security": [], "parameters": .array(Self.headers),
            "requestBody": ["required": true, "content": ["application/json": body]],
            "responses": [
                "2XX": ["description": "The event is taken."],
                "default": ["description": "The event comes again, after a pause."],
            ],
        ]
    }

    private static let headers = [
        header("webhook-id", .text("Always the same for an event and an endpoint.", example: exampleID)),
        header("webhook-timestamp", .text("When it was sent, in seconds since 1970.", example: "1800000003")),
        header(
            "webhook-signature",
            .text(
                "For each secret, `v1,` and the HMAC-SHA256 in base64 of `webhook-id`, a full stop, "
                    + "`webhook-timestamp`, a full stop and the body. Spaces separate several.",
                example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=")),
    ]

    private static let exampleID = "msg_1042_5f0c3a9be6d1742a90b7c3de"

    private static func header(_ name: String, _ schema: APISchema) -> JSONValue {
        ["name": .string(name), "in": "header", "required": true, "schema": schema.json]
    }

    /// Of the body.
    fileprivate var schema: APISchema {
        .object(
            meaning,
            [
                "type": .always(.string(rawValue), "The type of the event."),
                "timestamp": .text("When it happened (RFC 3339).", example: "2027-01-15T08:00:00Z"),
                "data": .object("What happened.", dataFields),
            ])
    }

    private var dataFields: [APISchema.Field] {
        let cause = APISchema.text("What led to it: a kind of the audit log.", choices: causes)
        let names = members.map(\.sent).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        return APISchema.fields([
            "user_id": .text("The `sub` of the user.", example: "u_8KfX2mQ0"),
            "by": .text(
                "`user`, `latchkey`, `administrator`, or `client:` and the id of a client or an issuer.",
                example: "user"),
        ]) + (causes.isEmpty ? [] : APISchema.fields(["cause": cause]))
            + APISchema.fields(optional: [
                "request_id": .text("The request that led to it.", example: "3Zt9"),
                "erased": .flag("Whether the user was erased since. Then details may be missing."),
            ]) + names.flatMap { name in APISchema.fields(optional: [name: Self.schema(of: name)]) }
    }

    private static func schema(of member: String) -> APISchema {
        switch member {
        case "attributes": .list("Those that changed.", of: .text("The name of an attribute", example: "email"))
        case "session_id": .text("The session.", example: "s_1")
        case "kept_session_id": .text("All sessions of the user ended but this one.", example: "s_2")
        case "client_id": .text("The app.", example: "ccid-example")
        case "from_issuer": .text("Of the identity before.", example: "https://old.example")
        case "merged_user_id": .text("The account that was merged into this one.", example: "u_Lm4Tq9Xa")
        default: .text("Of the identity.", example: "https://login.example")
        }
    }

    private var example: JSONValue {
        var data: [(String, JSONValue?)] = [("user_id", "u_8KfX2mQ0")]
        if let cause = causes.first { data.append(("cause", .string(cause))) }
        data += [("by", "user"), ("request_id", "3Zt9")]
        return [
            "type": .string(rawValue), "timestamp": "2027-01-15T08:00:00Z", "data": .object(of: data),
        ]
    }
}
