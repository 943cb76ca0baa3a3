import HTTPTypes
import Primitives
import TestSupport
import Testing

/// The steps of a verification of a signed-in user's number by redirects.
struct PhoneVerificationWalk: Sendable {
    static let path = "/users/me/phone/verifications"

    let app: NumberApp
    /// The session that asks.
    let token: String

    /// With a session of a user of southwind, whose number northwind does not know.
    init(_ app: NumberApp, subject: String = "SUBJECT-of-ann") async throws {
        self.app = app
        token = try await Self.session(app, subject)
    }

    /// With a session that there is.
    init(_ app: NumberApp, token: String) { (self.app, self.token) = (app, token) }

    /// A session of a user of southwind.
    static func session(_ app: NumberApp, _ subject: String = "SUBJECT-of-ann") async throws -> String {
        app.southwind.script { ($0.subject, $0.number) = (subject, "+14155550177") }
        return try await app.token(at: app.southwind)
    }

    /// One that has begun.
    struct Started {
        let id: String
        let authorization: NumberApp.Authorization
        let answer: Answer
    }

    func post(_ members: String) async throws -> Answer {
        try await app.send(.post, Self.path, [.authorization: "Bearer \(token)"], body: "{" + members + "}")
    }

    /// Begins; `members` are further JSON members.
    func start(
        _ members: String = #""phone_number":"+14155550101","operator":"northwind""#
    ) async throws -> Started {
        let answer = try await post(#""redirect_uri":"com.example.app://cb","# + members)
        try #require(answer.status == 201, "\(answer.body)")
        return Started(
            id: try #require(answer.text("verification_id")),
            authorization: NumberApp.Authorization(try #require(answer.text("authorization_url"))), answer: answer)
    }

    /// A browser opens the address, and comes back from the operator: what the app on its device is opened with.
    func open(_ started: Started) async throws -> [String: String] {
        let code = app.northwind.authorize(nonce: try #require(started.authorization.parameters["nonce"]))
        return try await app.finish(started.authorization, code: code)
    }

    /// Begins, and opens the address.
    func open() async throws -> (id: String, confirmation: String) {
        let started = try await start()
        return (started.id, try #require(try await open(started)["confirmation"]))
    }

    /// Presents a confirmation, by default in the session that asked.
    func confirm(_ id: String, _ confirmation: String, in other: String? = nil) async throws -> Answer {
        try await app.send(
            .post, "\(Self.path)/\(id)/confirmation", [.authorization: "Bearer \(other ?? token)"],
            body: #"{"confirmation":"\#(confirmation)"}"#)
    }

    func show(_ id: String, in other: String? = nil) async throws -> Answer {
        try await app.send(.get, "\(Self.path)/\(id)", [.authorization: "Bearer \(other ?? token)"])
    }

    /// Expects the account to be as it was when the session began.
    func expectUnchanged(_ comment: Comment? = nil) async throws {
        let me = try await app.me(token)
        #expect(me["phone_number"]?.string == "+14155550177", comment)
        #expect(me["phone_number_verified_by"]?.string == app.southwind.issuer, comment)
    }
}
