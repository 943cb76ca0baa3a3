import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

/// Users who take their number from one simulated carrier to another, over real sockets.
@Suite(.serialized) struct MigrationTests {
    typealias Fault = CarrierSimulator.Fault

    private static let former = "310010"
    private static let present = "310410"
    private static let third = "311870"

    /// Somebody signed in: the token, and who that is.
    private struct Visit {
        let answer: App.Answer
        let user: Int64?
        var isNew: Bool? { answer.json["new_user"]?.bool }
    }

    private func visit(_ stage: Stage, _ mccmnc: String) async throws -> Visit {
        let answer = try await stage.app.signIn(try stage.authorizedResponse(mccmnc: mccmnc))
        guard let token = answer.token else { return Visit(answer: answer, user: nil) }
        return Visit(answer: answer, user: try await stage.app.me(token).json["user_id"]?.integer)
    }

    private func audit(_ stage: Stage, _ kind: String) async throws -> [String] {
        let admin = try AdminService(stage.configuration)
        var selection = AdminService.AuditSelection()
        selection.kind = kind
        let lines = try await admin.audit(selection, as: .text)
        await admin.close()
        return lines
    }

    @Test("Who brings a port token keeps account and sessions, under the new carrier from then on")
    func moves() async throws {
        try await Stage.with { stage in
            let before = try await visit(stage, Self.former)
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
            let after = try await visit(stage, Self.present)
            #expect(after.answer.status == 200)
            #expect(before.user != nil)
            #expect(after.user == before.user)
            #expect(after.isNew == false)
            #expect(try await stage.app.me(try #require(before.answer.token)).status == 200)
            #expect(try await visit(stage, Self.present).user == before.user)
            let events = try await audit(stage, "identity.moved")
            #expect(events.count == 1)
            #expect(events.first?.contains("/carriers/310010") == true)
            #expect(events.first?.contains("310010-") == false, "a subject begins with the network's code")
        }
    }

    @Test(
        "The old carrier's sign-in is refused from then on, and makes no user, whatever registration says",
        arguments: [false, true])
    func formerIdentity(registrationIsRequired: Bool) async throws {
        try await Stage.with(configure: { $0.registration.mode = registrationIsRequired ? .required : .automatic }) {
            stage in
            let user = try await firstUser(stage, registers: registrationIsRequired)
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
            #expect(try await visit(stage, Self.present).user == user)
            for _ in 0..<2 {
                let refused = try await visit(stage, Self.former).answer
                #expect(refused.status == 401)
                #expect(refused.error == "request_denied")
                #expect(refused.json["error_type"]?.string == "requestDenied")
                #expect(refused.json["error_description"]?.string?.contains("moved to another carrier") == true)
                #expect(refused.json["state_key"] == nil)
            }
            #expect(try await audit(stage, "identity.moved_refused").count == 2)
        }
    }

    /// Jane at the former carrier, registered where that is needed.
    private func firstUser(_ stage: Stage, registers: Bool) async throws -> Int64? {
        let first = try await visit(stage, Self.former)
        guard registers else { return first.user }
        let handle = try #require(first.answer.json["state_key"]?.string)
        let registered = try await stage.app.send(
            "POST", "/users", headers: ["Content-Type: application/json"],
            body: App.json(["state_key": handle, "name": "Jane", "email": "jane@example.com"]))
        #expect(registered.status == 201)
        return try await stage.app.me(try #require(registered.token)).json["user_id"]?.integer
    }

    /// A fault of the present carrier's, and whether the account moves all the same.
    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault
        var moves = false
        var testDescription: String { fault.rawValue }
    }

    static let rows: [Row] =
        Fault.allCases.filter { $0.rawValue.hasPrefix("port-token-") }.map { fault in
            Row(fault: fault, moves: [.portTokenNotInArray, .portTokenAmongJunk].contains(fault))
        }

    @Test("A port token that is not good moves nothing, and is no error for the user", arguments: rows)
    func badPortToken(row: Row) async throws {
        try await Stage.with { stage in
            let before = try await visit(stage, Self.former)
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
            stage.simulator.setFaults([row.fault], for: Self.present)
            let after = try await visit(stage, Self.present)
            #expect(after.answer.status == 200)
            #expect((after.user == before.user) == row.moves)
            #expect(after.isNew == !row.moves)
            #expect(try await visit(stage, Self.former).answer.status == (row.moves ? 401 : 200))
            #expect(try await audit(stage, "identity.moved").count == (row.moves ? 1 : 0))
            #expect(stage.simulator.log.canaryHits() == 0)
            #expect(stage.simulator.log.tokenPosts(Self.present) == 1)

            // Somebody else's sign-in there is as it should be.
            stage.simulator.setFaults([], for: Self.present)
            let other = try stage.authorizedResponse(mccmnc: Self.present, user: "ravi")
            #expect(try await stage.app.signIn(other).status == 200)
        }
    }

    static let formerCarrierFaults: [Fault] = [
        .discovery500, .discoveryNotJSON, .discoveryRedirect, .discoveryMissingFields, .discoveryOtherIssuer,
        .discoveryRelativeURLs, .discoveryErrorDescription, .keys500, .keysNotJSON, .keysRedirect, .keysEmpty,
        .keysHuge, .discoverySlow, .keysSlow,
    ]

    @Test(
        "A former carrier that fails moves nothing, delays little, and is no error for the user",
        arguments: formerCarrierFaults)
    func formerCarrierFails(fault: Fault) async throws {
        try await Stage.with(configure: { $0.outbound.limits = .short }) { stage in
            let before = try await visit(stage, Self.former)
            // On a server that has not met the former carrier's keys yet.
            try await stage.alongside { stage in
                stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
                stage.simulator.setFaults([fault], for: Self.former)
                let after = try await visit(stage, Self.present)
                #expect(after.answer.status == 200)
                #expect(after.user != nil)
                #expect(after.user != before.user)
                #expect(stage.simulator.log.canaryHits() == 0)
            }
        }
    }

    @Test("Neither keys nor configuration are fetched for who is known, nor for whom nobody knew before")
    func fetchesNothing() async throws {
        try await Stage.with { stage in
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
            for _ in 0..<3 {
                let found = try await visit(stage, Self.present)
                #expect(found.user != nil)
            }
            let toFormer = stage.simulator.log.entries.filter { $0.mccmnc == Self.former }
            #expect(toFormer.isEmpty)
        }
    }

    @Test("A user who moves on, and back, keeps the account throughout; old port tokens change nothing")
    func roundTrip() async throws {
        try await Stage.with { stage in
            let user = try await visit(stage, Self.former).user
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present, age: 50)
            #expect(try await visit(stage, Self.present).user == user)
            stage.simulator.port(user: "jane", from: Self.present, to: Self.third, age: 40)
            #expect(try await visit(stage, Self.third).user == user)
            #expect(try await visit(stage, Self.present).answer.status == 401)
            stage.simulator.port(user: "jane", from: Self.third, to: Self.former, age: 30)
            #expect(try await visit(stage, Self.former).user == user)
            // Both have port tokens still, all older than the return.
            #expect(try await visit(stage, Self.present).answer.status == 401)
            #expect(try await visit(stage, Self.third).answer.status == 401)
            #expect(try await visit(stage, Self.former).user == user)
            #expect(try await audit(stage, "identity.moved").count == 3)
        }
    }

    @Test("Ten sign-ins at once with the port token all come to the one account")
    func concurrent() async throws {
        try await Stage.with { stage in
            let user = try await visit(stage, Self.former).user
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
            let requests = try (0..<10).map { _ in try stage.authorizedResponse(mccmnc: Self.present) }
            let app = stage.app
            let users = try await withThrowingTaskGroup(of: Int64?.self) { group in
                for request in requests {
                    group.addTask {
                        guard let token = try await app.signIn(request).token else { return nil }
                        return try await app.me(token).json["user_id"]?.integer
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(users.count == 10)
            #expect(users.allSatisfy { $0 == user && $0 != nil })
            #expect(try await audit(stage, "identity.moved").count == 1)
        }
    }

    @Test("The same request sent again after a move gets a session of the same user")
    func retried() async throws {
        try await Stage.with { stage in
            let user = try await visit(stage, Self.former).user
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
            let fields = try stage.authorizedResponse(mccmnc: Self.present)
            for _ in 0..<2 {
                let token = try #require(try await stage.app.signIn(fields).token)
                #expect(try await stage.app.me(token).json["user_id"]?.integer == user)
            }
            #expect(stage.simulator.log.tokenPosts(Self.present) == 1)
        }
    }
}
