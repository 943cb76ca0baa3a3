import ArgumentParser
import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import Registration
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

/// Users who move their number from one simulated carrier to another, over real sockets.
@Suite(.serialized) struct MigrationTests {
    typealias Fault = CarrierSimulator.Fault

    private static let former = "310010"
    private static let present = "310410"
    private static let third = "311870"

    /// A signed-in user: the token and the user's id.
    private struct Visit {
        let answer: App.Answer
        let user: Int64?
        var isNew: Bool? { answer.json["new_user"]?.bool }
    }

    private func visit(_ harness: SignInHarness, _ mccmnc: String) async throws -> Visit {
        let answer = try await harness.app.signIn(try harness.authorizedResponse(mccmnc: mccmnc))
        guard let token = answer.token else { return Visit(answer: answer, user: nil) }
        return Visit(answer: answer, user: try await harness.app.me(token).json["user_id"]?.integer)
    }

    private func audit(_ harness: SignInHarness, _ kind: String) async throws -> [String] {
        let admin = try AdminService(harness.configuration, features: .none)
        let lines = try await admin.audit(try .parse(["--kind", kind])).text
        await admin.close()
        return lines
    }

    @Test("A port token keeps the account and its sessions under the new carrier")
    func moves() async throws {
        try await SignInHarness.with { harness in
            let before = try await visit(harness, Self.former)
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
            let after = try await visit(harness, Self.present)
            #expect(after.answer.status == 200)
            #expect(before.user != nil)
            #expect(after.user == before.user)
            #expect(after.isNew == false)
            #expect(try await harness.app.me(try #require(before.answer.token)).status == 200)
            #expect(try await visit(harness, Self.present).user == before.user)
            let events = try await audit(harness, "identity.moved")
            #expect(events.count == 1)
            #expect(events.first?.contains("/carriers/310010") == true)
            #expect(events.first?.contains("310010-") == false, "a subject begins with the network's code")
        }
    }

    @Test(
        "After a move, a sign-in of the old carrier is refused and creates no user, independent of registration",
        arguments: [false, true])
    func formerIdentity(registrationIsRequired: Bool) async throws {
        try await SignInHarness.with(configure: {
            $0.registration.mode = registrationIsRequired ? .required : .automatic
        }) {
            harness in
            let user = try await firstUser(harness, registers: registrationIsRequired)
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
            #expect(try await visit(harness, Self.present).user == user)
            for _ in 0..<2 {
                let refused = try await visit(harness, Self.former).answer
                #expect(refused.status == 401)
                #expect(refused.error == "request_denied")
                #expect(refused.json["error_type"]?.string == "requestDenied")
                #expect(refused.json["error_description"]?.string?.contains("moved to another carrier") == true)
                #expect(refused.json["state_key"] == nil)
            }
            #expect(try await audit(harness, "identity.moved_refused").count == 2)
        }
    }

    /// Signs Jane in at the former carrier, with a registration if required.
    private func firstUser(_ harness: SignInHarness, registers: Bool) async throws -> Int64? {
        let first = try await visit(harness, Self.former)
        guard registers else { return first.user }
        let handle = try #require(first.answer.json["state_key"]?.string)
        let registered = try await harness.app.send(
            "POST", "/users", headers: ["Content-Type: application/json"],
            body: App.json(["state_key": handle, "name": "Jane", "email": "jane@example.com"]))
        #expect(registered.status == 201)
        return try await harness.app.me(try #require(registered.token)).json["user_id"]?.integer
    }

    /// A fault of the present carrier, and whether the account moves nevertheless.
    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault
        var moves = false
        var testDescription: String { fault.name }
    }

    static let rows: [Row] =
        Fault.allCases.filter { $0.name.hasPrefix("port-token-") }.map { fault in
            Row(fault: fault, moves: [.portTokenNotInArray, .portTokenAmongJunk].contains(fault))
        }

    @Test("An invalid port token moves no account and is no error for the user", arguments: rows)
    func badPortToken(row: Row) async throws {
        try await SignInHarness.with { harness in
            let before = try await visit(harness, Self.former)
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
            harness.simulator.setFaults([row.fault], for: Self.present)
            let after = try await visit(harness, Self.present)
            #expect(after.answer.status == 200)
            #expect((after.user == before.user) == row.moves)
            #expect(after.isNew == !row.moves)
            #expect(try await visit(harness, Self.former).answer.status == (row.moves ? 401 : 200))
            #expect(try await audit(harness, "identity.moved").count == (row.moves ? 1 : 0))
            #expect(harness.simulator.log.count(.canary) == 0)
            #expect(harness.simulator.log.tokenPosts(Self.present) == 1)

            // Another user's sign-in there succeeds.
            harness.simulator.setFaults([], for: Self.present)
            let other = try harness.authorizedResponse(mccmnc: Self.present, user: "ravi")
            #expect(try await harness.app.signIn(other).status == 200)
        }
    }

    static let formerCarrierFaults: [Fault] = [
        .discovery500, .discoveryNotJSON, .discoveryRedirect, .discoveryMissingFields, .discoveryOtherIssuer,
        .discoveryRelativeURLs, .discoveryErrorDescription, .keys500, .keysNotJSON, .keysRedirect, .keysEmpty,
        .keysHuge, .discoverySlow, .keysSlow,
    ]

    @Test(
        "A failing former carrier moves no account, adds little delay, and is no error for the user",
        arguments: formerCarrierFaults)
    func formerCarrierFails(fault: Fault) async throws {
        try await SignInHarness.with(configure: { $0.outbound.limits = .short }) { harness in
            let before = try await visit(harness, Self.former)
            // On an instance that has not fetched the former carrier's keys yet.
            try await harness.alongside { harness in
                harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
                harness.simulator.setFaults([fault], for: Self.former)
                let after = try await visit(harness, Self.present)
                #expect(after.answer.status == 200)
                #expect(after.user != nil)
                #expect(after.user != before.user)
                #expect(harness.simulator.log.count(.canary) == 0)
            }
        }
    }

    @Test("For a known user or an unknown former identity, neither keys nor metadata are fetched")
    func fetchesNothing() async throws {
        try await SignInHarness.with { harness in
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
            for _ in 0..<3 {
                let found = try await visit(harness, Self.present)
                #expect(found.user != nil)
            }
            let toFormer = harness.simulator.log.entries.filter { $0.mccmnc == Self.former }
            #expect(toFormer.isEmpty)
        }
    }

    @Test("A user who moves on and back keeps the account; old port tokens change nothing")
    func roundTrip() async throws {
        try await SignInHarness.with { harness in
            let user = try await visit(harness, Self.former).user
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present, age: 50)
            #expect(try await visit(harness, Self.present).user == user)
            harness.simulator.port(user: "jane", from: Self.present, to: Self.third, age: 40)
            #expect(try await visit(harness, Self.third).user == user)
            #expect(try await visit(harness, Self.present).answer.status == 401)
            harness.simulator.port(user: "jane", from: Self.third, to: Self.former, age: 30)
            #expect(try await visit(harness, Self.former).user == user)
            // Both still have port tokens, all older than the return.
            #expect(try await visit(harness, Self.present).answer.status == 401)
            #expect(try await visit(harness, Self.third).answer.status == 401)
            #expect(try await visit(harness, Self.former).user == user)
            #expect(try await audit(harness, "identity.moved").count == 3)
        }
    }

    @Test("Ten concurrent sign-ins with the port token reach the same account")
    func concurrent() async throws {
        try await SignInHarness.with { harness in
            let user = try await visit(harness, Self.former).user
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
            let requests = try (0..<10).map { _ in try harness.authorizedResponse(mccmnc: Self.present) }
            let app = harness.app
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
            #expect(try await audit(harness, "identity.moved").count == 1)
        }
    }

    @Test("A request repeated after a move gets a session of the same user")
    func retried() async throws {
        try await SignInHarness.with { harness in
            let user = try await visit(harness, Self.former).user
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
            let fields = try harness.authorizedResponse(mccmnc: Self.present)
            for _ in 0..<2 {
                let token = try #require(try await harness.app.signIn(fields).token)
                #expect(try await harness.app.me(token).json["user_id"]?.integer == user)
            }
            #expect(harness.simulator.log.tokenPosts(Self.present) == 1)
        }
    }
}
