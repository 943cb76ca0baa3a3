import CarrierSimulator
import Primitives
import TestSupport
import Testing

/// Operators that the simulated Telco Finder of `harbor` chooses and confirms, over sockets.
@Suite("Telco Finder over sockets") struct TelcoFinderTests {
    private static let ofJane = "+12025550123"
    private static let ofMira = "+12025550142"

    private func start(_ walk: NumberWalk, _ number: String) async throws -> App.Answer {
        try await walk.harness.app.post(
            "/auth/number/start",
            ["client_type": "ios", "redirect_uri": NumberWalk.redirectURI, "phone_number": number])
    }

    private func set(_ faults: Set<CarrierSimulator.Fault>, _ walk: NumberWalk) {
        walk.simulator.setFaults(faults, for: "harbor")
    }

    @Test("A number leads to its operator, and the whole sign-in asks once, because the answer may be kept")
    func choice() async throws {
        try await NumberWalk.with(finder: []) { (walk) async throws in
            for (number, name) in [(Self.ofJane, "northwind"), (Self.ofMira, "harbor")] {
                let location = try await start(walk, number).json["location"]?.string ?? ""
                #expect(location.hasPrefix((walk.simulator.issuer(of: name) ?? "-") + "/authorize?"), "\(location)")
                #expect(!location.contains(number.dropFirst()))
            }
            #expect(walk.simulator.log.count(.telcoFinder, "harbor") == 2)
            #expect(try await walk.signIn().result == "success")
            #expect(walk.simulator.log.count(.telcoFinder, "harbor") == 2)
            let search = try #require(walk.simulator.log.last(.telcoFinder, "harbor"))
            #expect(search.authorization?.hasPrefix("Bearer ") == true && search.correlator != nil)
            let unknown = try await start(walk, "+12025550100")
            #expect(unknown.status == 400 && unknown.error == "operator_unknown")
        }
    }

    @Test("Telco Finder's tokens are bound to a key where it supports that, with its nonces")
    func bound() async throws {
        try await NumberWalk.with(finder: []) { (walk) async throws in
            walk.simulator.update("harbor") { $0.operatorProfile?.demandsDPoP = true }
            set([.dpopNonce], walk)
            #expect(try await start(walk, Self.ofJane).status == 200)
            let searches = walk.simulator.log.entries.filter { $0.endpoint == .telcoFinder }
            #expect(searches.count == 2 && searches.allSatisfy { $0.proof != nil })
        }
    }

    @Test(
        "An operator that vouches for another operator's number, and one that Telco Finder contradicts, sign nobody in",
        arguments: [
            (.operatorFinderNeighbour, [], "carrier_error"), (.operatorFinderUnknown, [], "carrier_error"),
            (.operatorFinderOtherRoot, ["if_other_operator: report"], "carrier_error"),
            (.operatorFinderOtherIssuer, ["if_unknown: accept"], "carrier_error"),
            (.operatorFinder500, [], "carrier_error"), (.operatorFinderNotJSON, [], "carrier_error"),
            (.operatorFinderNeighbour, ["if_other_operator: report"], "success"),
            (.operatorFinderNeighbour, ["if_other_operator: off"], "success"),
            (.operatorFinderUnknown, ["if_unknown: accept"], "success"),
            (.operatorFinder500, ["if_unknown: accept"], "success"),
        ] as [(CarrierSimulator.Fault, [String], String)])
    func check(_ fault: CarrierSimulator.Fault, _ settings: [String], _ result: String) async throws {
        try await NumberWalk.with(finder: settings) { (walk) async throws in
            set([fault], walk)
            let end = try await walk.signIn()
            #expect(end.result == result)
            #expect((end.token != nil) == (result == "success"))
            #expect(walk.simulator.log.count(.canary) == 0)
        }
    }

    @Test("An operator whose id is not configured is unknown")
    func otherID() async throws {
        try await NumberWalk.with(finder: []) { (walk) async throws in
            walk.simulator.update("northwind") { $0.operatorProfile?.finderID = "another" }
            #expect(try await start(walk, Self.ofJane).error == "operator_unknown")
            #expect(try await walk.signIn().result == "carrier_error")
        }
    }
}
