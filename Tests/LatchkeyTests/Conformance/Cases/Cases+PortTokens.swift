import CarrierSimulator
import Primitives
import Testing

/// Faults of port tokens: the sign-in succeeds as a new user unless the account may move.
extension ConformanceCases {
    static let portTokens: [ConformanceCase] =
        [.ok("port-token", .steps(migrate(moves: true)))]
        + CarrierSimulator.Fault.allCases.filter { $0.name.hasPrefix("port-token-") }.map { fault in
            let isRight = [.portTokenNotInArray, .portTokenAmongJunk].contains(fault)
            return .ok(fault.name, .fault(fault), .steps(migrate(moves: isRight)))
        }

    /// A user of another carrier moves to the case's.
    private static func migrate(moves: Bool) -> ConformanceCase.Steps {
        { run in
            let former = ConformanceRun(run.row.twin, on: run.harness)
            run.harness.simulator.update(former.mccmnc) { $0.keyRing = ConformanceHarness.otherKeyRing }
            let before = try await user(try await former.signIn(), on: run.harness)
            run.harness.simulator.port(user: "jane", from: former.mccmnc, to: run.mccmnc)
            let response = try await run.signIn()
            let after = try await user(response, on: run.harness)
            #expect(before != nil && after != nil)
            #expect((before == after) == moves)
            #expect(response.json["new_user"]?.bool == !moves)
            #expect(try await former.signIn().status == (moves ? 401 : 200))
            return [response]
        }
    }

    private static func user(_ response: App.Answer, on harness: ConformanceHarness) async throws -> Int64? {
        try await harness.app.me(response.token ?? "").json["user_id"]?.integer
    }
}
