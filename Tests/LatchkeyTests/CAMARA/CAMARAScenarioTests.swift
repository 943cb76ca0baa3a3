import CarrierSimulator
import Primitives
import TestSupport
import Testing

/// The scenarios of CAMARA's test definitions, and the profile's demands on API consumers, against simulated operators.
@Suite(.serialized) struct CAMARAScenarioTests {
    @Test("A scenario of the test definitions", arguments: CAMARAScenarios.shown)
    func scenario(_ row: CAMARAScenario) async throws {
        let check = try #require(row.check)
        try await NumberWalk.with(simSwap: row.simSwap, hashed: row.hashed) { walk in try await check(walk) }
    }

    @Test("A requirement of the profile on API consumers", arguments: CAMARARequirements.checked)
    func requirement(_ row: CAMARAScenario) async throws {
        let check = try #require(row.check)
        try await NumberWalk.with(simSwap: row.simSwap) { walk in try await check(walk) }
    }

    @Test("docs/reports/camara.md lists every scenario and requirement (make camara-table writes it)")
    func table() throws {
        if CAMARATable.isToBeWritten { return try CAMARATable.write() }
        #expect(try Repository.text(CAMARATable.path) == CAMARATable.text)
        // Two features have tags in common.
        for (title, scenarios) in CAMARAScenarios.sections {
            #expect(Set(scenarios.map(\.id)).count == scenarios.count, "\(title)")
        }
        let catalog = try TestCatalog()
        for row in CAMARARequirements.all where row.check == nil {
            #expect(row.otherTest.map { catalog.tests[$0] != nil } == true, "\(row)")
        }
    }

    @Test("Latchkey never asks for the date of the last change")
    func dates() async throws {
        try await NumberWalk.with(simSwap: "{if_swapped: refuse}") { walk in
            let end = try await walk.signIn()
            #expect(end.result == "success")
            #expect(walk.count(.simSwapDate) == 0)
        }
    }

    // MARK: The ladder of an app

    @Test("Over Wi-Fi the app learns it, and signs the same user in with an operator token")
    func fallback() async throws {
        try await NumberWalk.with { walk in
            let first = try await walk.signIn()
            #expect(try await walk.signIn(device: "wifi").result == "not_on_mobile_network")
            #expect(try await walk.signIn(device: "cellular:harbor:mira").result == "not_on_mobile_network")
            let second = try await walk.signInByToken(of: "jane")
            #expect(second.result == "success")
            #expect(try await walk.me(second, "user_id")?.integer == walk.me(first, "user_id")?.integer)
        }
    }

    @Test("A number with another subject is another user, and the first one's is no longer verified")
    func recycled() async throws {
        try await NumberWalk.with { walk in
            let former = try await walk.signIn()
            walk.set([.operatorNumberRecycled])
            let next = try await walk.signIn()
            #expect(next.result == "success")
            #expect(try await walk.me(next, "user_id")?.integer != walk.me(former, "user_id")?.integer)
            #expect(try await walk.me(next, "phone_number_verified")?.bool == true)
            #expect(try await walk.me(former, "phone_number_verified")?.bool != true)
        }
    }

    @Test("The response of another operator is refused before its code is redeemed")
    func otherOperator() async throws {
        try await NumberWalk.with { walk in
            walk.set([.operatorNeighbourIssuer])
            let end = try await walk.signIn()
            #expect(end.token == nil)
            #expect(walk.simulator.log.tokenPosts() == 0)
        }
    }

    @Test(
        "An operator that cannot answer signs nobody in",
        arguments: [
            ("operator-api-quota-exceeded", "temporarily_unavailable"), ("operator-number-500", "carrier_error"),
            ("operator-number-not-json", "carrier_error"), ("operator-number-redirect", "carrier_error"),
            ("operator-number-token-used", "carrier_error"), ("operator-api-wrong-audience", "carrier_error"),
        ])
    func unusable(_ name: String, _ error: String) async throws {
        try await NumberWalk.with { walk in
            let fault = try #require(CarrierSimulator.Fault(named: name))
            walk.set([fault])
            try await walk.expect(error, after: .devicePhoneNumber)
        }
    }
}
