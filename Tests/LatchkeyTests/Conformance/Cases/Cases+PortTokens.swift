import CarrierSimulator
import Primitives
import Testing

/// Faults of port tokens: the user is signed in all the same, but as somebody new, unless the account may move.
extension ConformanceCases {
    static let portTokens: [ConformanceCase] =
        [.ok("port-token", .steps(migrate(moves: true)))]
        + CarrierSimulator.Fault.allCases.filter { $0.rawValue.hasPrefix("port-token-") }.map { fault in
            let isRight = [.portTokenNotInArray, .portTokenAmongJunk].contains(fault)
            return .ok(fault.rawValue, .fault(fault), .steps(migrate(moves: isRight)))
        }

    /// A user of one carrier goes to the case's.
    private static func migrate(moves: Bool) -> ConformanceCase.Steps {
        { run in
            let former = ConformanceRun(run.row.twin, on: run.stage)
            run.stage.simulator.update(former.mccmnc) { $0.keyRing = ConformanceStage.otherKeyRing }
            let before = try await user(try await former.signIn(), on: run.stage)
            run.stage.simulator.port(user: "jane", from: former.mccmnc, to: run.mccmnc)
            let answer = try await run.signIn()
            let after = try await user(answer, on: run.stage)
            #expect(before != nil && after != nil)
            #expect((before == after) == moves)
            #expect(answer.json["new_user"]?.bool == !moves)
            #expect(try await former.signIn().status == (moves ? 401 : 200))
            return [answer]
        }
    }

    private static func user(_ answer: App.Answer, on stage: ConformanceStage) async throws -> Int64? {
        try await stage.app.me(answer.token ?? "").json["user_id"]?.integer
    }
}
