import ArgumentParser
import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import Registration
import SignIn
import Testing

/// Users who move to another carrier and sign in there by backchannel authentication.
@Suite(.serialized) struct BackchannelMigrationTests {
    typealias Fault = CarrierSimulator.Fault

    private static let former = "310010"
    private static let present = "310410"

    private func audit(_ harness: BackchannelHarness, _ kind: String) async throws -> [String] {
        let admin = try AdminService(harness.base.configuration, features: .none)
        let lines = try await admin.audit(try .parse(["--kind", kind])).text
        await admin.close()
        return lines
    }

    private func user(_ harness: BackchannelHarness, _ answer: App.Answer) async throws -> Int64? {
        guard let token = answer.token else { return nil }
        return try await harness.app.me(token).json["user_id"]?.integer
    }

    /// Signs Jane in with a code, with a registration if required.
    private func known(_ harness: BackchannelHarness, registers: Bool = false) async throws -> Int64? {
        let first = try await harness.app.signIn(try harness.base.authorizedResponse(mccmnc: Self.former))
        guard registers else { return try await user(harness, first) }
        let handle = try #require(first.json["state_key"]?.string)
        let registered = try await harness.app.send(
            "POST", "/users", headers: ["Content-Type: application/json"],
            body: App.json(["state_key": handle, "name": "Jane", "email": "jane@example.com"]))
        return try await user(harness, registered)
    }

    /// Starts a backchannel authentication of Jane, who approves.
    private func approved(_ harness: BackchannelHarness, _ mccmnc: String) async throws -> String {
        let handle = try await harness.handle(mccmnc)
        #expect(try await harness.answerLatest(.approved, mccmnc) == [204])
        return handle
    }

    private func moving(
        registers: Bool = false, _ body: (BackchannelHarness, Int64) async throws -> Void
    ) async throws {
        try await BackchannelHarness.with(configure: {
            $0.registration.mode = registers ? .required : .automatic
        }) {
            harness in
            let user = try #require(try await known(harness, registers: registers))
            harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
            try await body(harness, user)
        }
    }

    @Test(
        "A port token keeps the account at the first poll, and a repeated poll returns it",
        arguments: [false, true])
    func moves(registrationIsRequired: Bool) async throws {
        try await moving(registers: registrationIsRequired) { harness, before in
            let handle = try await approved(harness, Self.present)
            #expect(try await audit(harness, "identity.moved").isEmpty)
            let first = try await harness.poll(handle)
            #expect(first.status == 200)
            #expect(first.json["new_user"]?.bool == false)
            #expect(try await user(harness, first) == before)
            // Another instance, with its own poll pace.
            try await harness.base.alongside { other in
                let again = try await BackchannelHarness(base: other).poll(handle)
                #expect(try await user(harness, again) == before)
            }
            let events = try await audit(harness, "identity.moved")
            #expect(events.count == 1)
            let correlation = try #require(first.json["correlation_id"]?.string)
            #expect(events.first?.contains(correlation) == true)
            #expect(events.first?.contains("310010-") == false, "a subject begins with the network's code")
        }
    }

    @Test(
        "An invalid port token moves no account and is no error for the user",
        arguments: Fault.allCases.filter { $0.name.hasPrefix("port-token-") })
    func badPortToken(fault: Fault) async throws {
        let moves = [.portTokenNotInArray, .portTokenAmongJunk].contains(fault)
        try await moving { harness, before in
            harness.simulator.setFaults([fault], for: Self.present)
            let answer = try await harness.poll(try await approved(harness, Self.present))
            #expect(answer.status == 200)
            #expect((try await user(harness, answer) == before) == moves)
            #expect(answer.json["new_user"]?.bool == !moves)
            #expect(harness.simulator.log.count(.canary) == 0)
        }
    }

    @Test(
        "A failing former carrier moves no account and is no error for the user",
        arguments: [Fault.keys500, .keysSlow])
    func formerCarrierFails(fault: Fault) async throws {
        try await BackchannelHarness.with(configure: { $0.outbound.limits = .short }) { harness in
            let before = try #require(try await known(harness))
            try await harness.base.alongside { other in
                let harness = BackchannelHarness(base: other)
                harness.simulator.port(user: "jane", from: Self.former, to: Self.present)
                harness.simulator.setFaults([fault], for: Self.former)
                let answer = try await harness.poll(try await approved(harness, Self.present))
                #expect(answer.status == 200)
                #expect(try await user(harness, answer) != before)
            }
        }
    }

    @Test(
        "An identity whose account has moved is refused, and the notification gets its error once",
        arguments: [false, true])
    func formerIdentity(registrationIsRequired: Bool) async throws {
        try await moving(registers: registrationIsRequired) { harness, before in
            _ = try await harness.poll(try await approved(harness, Self.present))
            let handle = try await approved(harness, Self.former)
            let first = try await harness.poll(handle)
            var answers = [first]
            try await harness.base.alongside { other in
                answers.append(try await BackchannelHarness(base: other).poll(handle))
            }
            let correlation = try #require(first.json["correlation_id"]?.string)
            for answer in answers {
                #expect(answer.status == 401)
                #expect(answer.error == "request_denied")
                #expect(answer.json["error_type"]?.string == "requestDenied")
                #expect(answer.json["state_key"] == nil)
                #expect(answer.json["correlation_id"]?.string == correlation)
            }
            let events = try await audit(harness, "identity.moved_refused")
            #expect(events.count == 1)
            #expect(events.first?.contains(correlation) == true)
        }
    }
}
