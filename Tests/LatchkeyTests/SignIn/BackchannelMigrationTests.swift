import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import SignIn
import Testing

/// Users who take their number to another carrier, and are asked on their phone there.
@Suite(.serialized) struct BackchannelMigrationTests {
    typealias Fault = CarrierSimulator.Fault

    private static let former = "310010"
    private static let present = "310410"

    private func audit(_ stage: BackchannelHarness, _ kind: String) async throws -> [String] {
        let admin = try AdminService(stage.stage.configuration)
        var selection = AdminService.AuditSelection()
        selection.kind = kind
        let lines = try await admin.audit(selection, as: .text)
        await admin.close()
        return lines
    }

    private func user(_ stage: BackchannelHarness, _ answer: App.Answer) async throws -> Int64? {
        guard let token = answer.token else { return nil }
        return try await stage.app.me(token).json["user_id"]?.integer
    }

    /// Signs Jane in by a code, registered where that is needed.
    private func known(_ stage: BackchannelHarness, registers: Bool = false) async throws -> Int64? {
        let first = try await stage.app.signIn(try stage.stage.authorizedResponse(mccmnc: Self.former))
        guard registers else { return try await user(stage, first) }
        let handle = try #require(first.json["state_key"]?.string)
        let registered = try await stage.app.send(
            "POST", "/users", headers: ["Content-Type: application/json"],
            body: App.json(["state_key": handle, "name": "Jane", "email": "jane@example.com"]))
        return try await user(stage, registered)
    }

    /// Has her asked at a carrier; she approves.
    private func approved(_ stage: BackchannelHarness, _ mccmnc: String) async throws -> String {
        let handle = try await stage.handle(mccmnc)
        #expect(try await stage.answerLatest(.approved, mccmnc) == [204])
        return handle
    }

    private func moving(
        registers: Bool = false, _ body: (BackchannelHarness, Int64) async throws -> Void
    ) async throws {
        try await BackchannelHarness.with(configure: { $0.registration.mode = registers ? .required : .automatic }) {
            stage in
            let user = try #require(try await known(stage, registers: registers))
            stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
            try await body(stage, user)
        }
    }

    @Test(
        "Who brings a port token keeps the account, by the first poll; the one sent again finds it so",
        arguments: [false, true])
    func moves(registrationIsRequired: Bool) async throws {
        try await moving(registers: registrationIsRequired) { stage, before in
            let handle = try await approved(stage, Self.present)
            #expect(try await audit(stage, "identity.moved").isEmpty)
            let first = try await stage.poll(handle)
            #expect(first.status == 200)
            #expect(first.json["new_user"]?.bool == false)
            #expect(try await user(stage, first) == before)
            // Another server, which has its own pace.
            try await stage.stage.alongside { other in
                let again = try await BackchannelHarness(stage: other).poll(handle)
                #expect(try await user(stage, again) == before)
            }
            let events = try await audit(stage, "identity.moved")
            #expect(events.count == 1)
            let correlation = try #require(first.json["correlation_id"]?.string)
            #expect(events.first?.contains(correlation) == true)
            #expect(events.first?.contains("310010-") == false, "a subject begins with the network's code")
        }
    }

    @Test(
        "A port token that is not good moves nothing, and is no error for the user",
        arguments: Fault.allCases.filter { $0.rawValue.hasPrefix("port-token-") })
    func badPortToken(fault: Fault) async throws {
        let moves = [.portTokenNotInArray, .portTokenAmongJunk].contains(fault)
        try await moving { stage, before in
            stage.simulator.setFaults([fault], for: Self.present)
            let answer = try await stage.poll(try await approved(stage, Self.present))
            #expect(answer.status == 200)
            #expect((try await user(stage, answer) == before) == moves)
            #expect(answer.json["new_user"]?.bool == !moves)
            #expect(stage.simulator.log.canaryHits() == 0)
        }
    }

    @Test(
        "A former carrier that fails moves nothing, and is no error for the user",
        arguments: [Fault.keys500, .keysSlow])
    func formerCarrierFails(fault: Fault) async throws {
        try await BackchannelHarness.with(configure: { $0.outbound.limits = .short }) { stage in
            let before = try #require(try await known(stage))
            try await stage.stage.alongside { other in
                let stage = BackchannelHarness(stage: other)
                stage.simulator.port(user: "jane", from: Self.former, to: Self.present)
                stage.simulator.setFaults([fault], for: Self.former)
                let answer = try await stage.poll(try await approved(stage, Self.present))
                #expect(answer.status == 200)
                #expect(try await user(stage, answer) != before)
            }
        }
    }

    @Test(
        "An identity that the account was moved from is refused as in any sign-in, and told of once",
        arguments: [false, true])
    func formerIdentity(registrationIsRequired: Bool) async throws {
        try await moving(registers: registrationIsRequired) { stage, before in
            _ = try await stage.poll(try await approved(stage, Self.present))
            let handle = try await approved(stage, Self.former)
            let first = try await stage.poll(handle)
            var answers = [first]
            try await stage.stage.alongside { other in
                answers.append(try await BackchannelHarness(stage: other).poll(handle))
            }
            let correlation = try #require(first.json["correlation_id"]?.string)
            for answer in answers {
                #expect(answer.status == 401)
                #expect(answer.error == "request_denied")
                #expect(answer.json["error_type"]?.string == "requestDenied")
                #expect(answer.json["state_key"] == nil)
                #expect(answer.json["correlation_id"]?.string == correlation)
            }
            let events = try await audit(stage, "identity.moved_refused")
            #expect(events.count == 1)
            #expect(events.first?.contains(correlation) == true)
        }
    }
}
