import Crypto
import Foundation
import LatchkeyAPI
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import Webhooks

@Suite struct WebhookEventTests {
    private static let all = Set(WebhookType.allCases)

    private func event(
        _ kind: String, _ details: String = "{}", by actor: AuditEvent.Actor = .user, publicID: String? = "u-1",
        isErased: Bool = false
    ) -> WebhookEvent {
        WebhookEvent(
            serial: 42, user: UserID(7), time: Timestamp(secondsSinceEpoch: 1_800_000_000), kind: kind, actor: actor,
            requestID: "r-1", details: AuditDetails(recorded: details), publicID: publicID, isErased: isErased)
    }

    private func bodies(_ event: WebhookEvent, _ types: Set<WebhookType> = all) -> [String] {
        event.messages(of: types, salt: "s").map { String(decoding: $0.body, as: UTF8.self) }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let kind: String
        let details: String
        let sent: [String]
        var testDescription: String { kind + " " + details }
    }

    /// The beginning of each body is the same for all.
    private static func data(_ type: String, _ rest: String) -> String {
        #"{"type":"\#(type)","timestamp":"2027-01-15T08:00:00Z","data":{"user_id":"u-1",\#(rest)}}"#
    }

    private static let common = #""by":"user","request_id":"r-1""#

    static let rows = [
        Row(
            kind: "session.created",
            details: #"{"session_id":"s","client_id":"c","issuer":"https://i","identity":"0f"}"#,
            sent: [data("session.created", common + #","session_id":"s","client_id":"c","issuer":"https://i""#)]),
        Row(
            kind: "session.created", details: #"{"session_id":"s","client_id":"c","new_user":true}"#,
            sent: [
                data("user.created", common + #","session_id":"s","client_id":"c""#),
                data("session.created", common + #","session_id":"s","client_id":"c""#),
            ]),
        Row(
            kind: "user.edited", details: #"{"attributes":["email"]}"#,
            sent: [data("user.updated", #""cause":"user.edited",\#(common),"attributes":["email"]"#)]),
        Row(
            kind: "user.updated", details: #"{"attributes":["name"],"issuer":"https://i"}"#,
            sent: [
                data(
                    "user.updated", #""cause":"user.updated",\#(common),"attributes":["name"],"issuer":"https://i""#)
            ]),
        Row(
            kind: "user.merged", details: #"{"from_user":8,"to_user":7,"public_id":"u-8","reason":"secret"}"#,
            sent: [data("user.updated", #""cause":"user.merged",\#(common),"merged_user_id":"u-8""#)]),
        Row(
            kind: "user.erased", details: #"{"public_id":"u-1"}"#,
            sent: [data("user.deleted", #""cause":"user.erased",\#(common)"#)]),
        Row(
            kind: "session.signed_out", details: #"{"session_id":"s","client_id":"c"}"#,
            sent: [
                data("session.ended", #""cause":"session.signed_out",\#(common),"session_id":"s","client_id":"c""#)
            ]),
        Row(
            kind: "session.revoked", details: #"{"session":"s","reason":"stolen"}"#,
            sent: [data("session.ended", #""cause":"session.revoked",\#(common),"session_id":"s""#)]),
        Row(
            kind: "session.others_revoked", details: #"{"kept_session_id":"k"}"#,
            sent: [data("session.ended", #""cause":"session.others_revoked",\#(common),"kept_session_id":"k""#)]),
        Row(
            kind: "identity.linked", details: #"{"identity":"0f","issuer":"https://i"}"#,
            sent: [data("identity.linked", common + #","issuer":"https://i""#)]),
        Row(
            kind: "identity.moved",
            details: #"{"move":3,"from_issuer":"https://a","from_identity":"0f","to_issuer":"https://b"}"#,
            sent: [
                data(
                    "identity.moved",
                    #""cause":"identity.moved",\#(common),"from_issuer":"https://a","issuer":"https://b""#)
            ]),
        Row(
            kind: "phone_number.verified", details: #"{"issuer":"https://o"}"#,
            sent: [data("phone_number.verified", common + #","issuer":"https://o""#)]),
        Row(
            kind: "phone_number.reassigned", details: "{}", sent: [data("phone_number.reassigned", common)]),
        Row(kind: "server.started", details: "{}", sent: []),
        Row(
            kind: "security_event.received", details: #"{"provider":"acme","sessions":2}"#,
            sent: [data("session.ended", #""cause":"security_event.received",\#(common)"#)]),
        Row(kind: "security_event.received", details: #"{"provider":"acme","sessions":0}"#, sent: []),
        Row(
            kind: "user.edited", details: "not JSON",
            sent: [data("user.updated", #""cause":"user.edited",\#(common)"#)]),
    ]

    @Test("What is sent for an event, without numbers, fingerprints and reasons", arguments: rows)
    func bodies(row: Row) {
        #expect(bodies(event(row.kind, row.details)) == row.sent)
    }

    @Test("An event of a type that is not selected, or of a user without a public id, is not sent")
    func selection() {
        let sign = event("session.created", #"{"new_user":true}"#)
        #expect(bodies(sign, [.userCreated]).count == 1 && bodies(sign, [.userDeleted]).isEmpty)
        #expect(bodies(event("user.edited", publicID: nil)).isEmpty)
    }

    @Test("An event of an erased user says so")
    func erased() {
        let sent = bodies(event("session.created", #"{"session_id":"s"}"#, isErased: true))
        #expect(sent.map { $0.contains(#""erased":true,"session_id":"s""#) } == [true])
    }

    @Test("An administrator's account is not sent")
    func administrator() {
        let sent = bodies(event("user.erased", by: .operating("pat")))
        #expect(sent.allSatisfy { $0.contains(#""by":"administrator""#) && !$0.contains("pat") } && !sent.isEmpty)
    }

    @Test("The id follows from the event, the type and the endpoint")
    func ids() {
        let sign = event("session.created", #"{"new_user":true}"#)
        let ids = sign.messages(of: Self.all, salt: "s").map(\.id)
        #expect(Set(ids).count == 2 && ids == sign.messages(of: Self.all, salt: "s").map(\.id))
        #expect(Set(ids).isDisjoint(with: sign.messages(of: Self.all, salt: "t").map(\.id)))
        #expect(ids.map(WebhookEvent.serial) == [42, 42])
        // printf 'latchkey webhook 1,s,42,1800000000,user.created' | sha256sum | head -c 24
        #expect(ids.first == "msg_42_57697cdaa98c25cfd830babf")
        for text in ["", "msg_", "msg_x_1", "msg_1", "msg_1_2_3", "42"] {
            #expect(WebhookEvent.serial(ofID: text) == nil)
        }
    }

    @Test("The signature is the one of the specification's example; each of two secrets signs")
    func signature() throws {
        // The test vector of the reference implementations of Standard Webhooks.
        let message = WebhookMessage(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: Array(#"{"test": 2432232314}"#.utf8))
        let key = try #require(WebhookSignature.key(of: Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")))
        let time = Timestamp(secondsSinceEpoch: 1_614_265_330)
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        #expect(WebhookSignature.field(message, at: time, [key]) == signature)
        let both = WebhookSignature.field(message, at: time, [SymmetricKey(size: .bits256), key])
        #expect(both.split(separator: " ").count == 2 && both.hasSuffix(" " + signature))
    }

    @Test(
        "A secret is whsec_ and 24 to 64 bytes in base64",
        arguments: [
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true), ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", false),
            ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false),
            ("whsec_" + Data(count: 23).base64EncodedString(), false),
            ("whsec_" + Data(count: 64).base64EncodedString(), true),
            ("whsec_" + Data(count: 65).base64EncodedString(), false),
            ("whsec_" + Data(repeating: 0xff, count: 32).base64EncodedString(), true),
            ("whsec_" + String(Data(repeating: 0xff, count: 32).base64EncodedString().dropLast()), true),
            ("whsec_" + Data(repeating: 0xff, count: 32).base64EncodedString() + "=", false),
            ("whsec_" + Data(repeating: 0xff, count: 32).base64EncodedString().replacing("/", with: "_"), false),
        ])
    func secrets(text: String, isSecret: Bool) {
        #expect((WebhookSignature.key(of: Secret(text)) != nil) == isSecret)
    }

    @Test(
        "Names of events and patterns",
        arguments: [("*", 10), ("user.*", 3), ("user.created", 1), ("phone_number.*", 2)])
    func patterns(text: String, count: Int) { #expect(WebhookSelection(text)?.types.count == count) }

    @Test("Other texts select nothing", arguments: ["", "user", "user.", "user.moved", "u*", ".*", "**", "use.*"])
    func otherPatterns(text: String) { #expect(WebhookSelection(text) == nil) }

    @Test("What is sent, and each example, is as the OpenAPI document says")
    func documented() throws {
        let document = OpenAPIDocument(
            version: "1", sessionCookie: "s", refreshCookie: "r", path: "", features: [WebhooksFeature.self]
        ).json
        let schemas = try APIContract(document).schemas
        let webhooks = document.object?["webhooks"]?.object
        #expect(webhooks?.members.map(\.name) == WebhookType.allCases.map(\.rawValue))
        func check(_ value: JSONValue) throws {
            let type = try #require(WebhookType(rawValue: value.object?["type"]?.string ?? ""))
            let faults = schemas.faults(of: value, ["$ref": .string("#/components/schemas/\(type.schemaName)")])
            #expect(faults.isEmpty, "\(value.text): \(faults)")
        }
        for body in Self.rows.flatMap(\.sent) { try check(try JSONValue(parsing: Array(body.utf8))) }
        for webhook in webhooks?.members ?? [] {
            let post = webhook.value.object?["post"]?.object
            let body = post?["requestBody"]?.object?["content"]?.object?["application/json"]?.object
            try check(try #require(body?["example"]))
            #expect(body?["schema"]?.object?["$ref"]?.string?.hasSuffix("Event") == true)
            #expect(
                post?["parameters"]?.array?.compactMap { $0.object?["name"]?.string }
                    == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        }
        let erased: JSONValue = ["type": "user.deleted", "timestamp": "t", "data": ["user_id": "u", "by": "user"]]
        #expect(
            !schemas.faults(of: erased, ["$ref": "#/components/schemas/UserDeletedEvent"]).isEmpty,
            "a cause is required where there are several")
    }
}
