import CarrierSimulator
import Foundation
import LatchkeyClient
import LatchkeyConfiguration
import PhoneVerification
import SignIn
import TestSupport
import Testing

/// The requests of a sign-in by number, as docs/verified-numbers.md counts them.
@Suite("The costs of verified numbers", .serialized)
struct NumberCostTests {
    private typealias Endpoint = CarrierSimulator.RequestLog.Endpoint

    /// Requests of the app to Latchkey, of the app to the operator, and of Latchkey to the operator.
    private struct Count {
        var app = 0
        var phone = 0
        var server = 0
        var cached = 0
    }

    private static let ways = [
        "over the mobile network", "operator token", verification, "verification, operator token",
    ]
    private static let verification = "verification, over the mobile network"

    /// The rows of the table under `## What it costs`: the cells after the first one.
    private static func documented() throws -> [String: [String]] {
        let text = try Repository.text("docs/verified-numbers.md")
        let section = text.components(separatedBy: "## What it costs\n").last?.components(separatedBy: "\n## ").first
        let rows = (section ?? "").split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return Dictionary(rows.map { ($0[0], Array($0.dropFirst())) }, uniquingKeysWith: { first, _ in first })
    }

    @Test("The table has the requests that are made", arguments: ways)
    func counted(way: String) async throws {
        let row = try #require(try Self.documented()[way], "no row for \(way)")
        var policy = SIMSwapPolicy()
        var counts: [Count] = []
        for swapped in [NumberContradiction.off, .refuse] {
            policy.ifSwapped = swapped
            try await ProviderWalk.withOperators(simSwap: policy) { walk in
                counts.append(try await count(way, walk))
            }
        }
        #expect(row == [counts[0].app, counts[0].phone, counts[0].server, counts[1].server].map(String.init))
        #expect(counts.allSatisfy { $0.cached == 0 }, "metadata and keys are cached")
    }

    /// The requests of a second sign-in or verification.
    private func count(_ way: String, _ walk: ProviderWalk) async throws -> Count {
        let simulator = walk.harness.simulator
        let (network, cellular) = (LossyNetwork(), SocketCellularNetwork())
        let latchkey = try walk.harness.client(network)
        func act() async throws {
            let northwind = LatchkeyClient.MobileOperator(name: "northwind")
            let phone = Phone(mccmnc: "310010", cellular: cellular)
            if way == "over the mobile network" {
                _ = try await latchkey.signInByNumber(on: phone, to: ProviderWalk.appURI)
                return
            }
            if way == Self.verification {
                let verification = try await latchkey.verifyPhoneNumber(on: phone, to: ProviderWalk.appURI)
                return #expect(verification.status == .verified)
            }
            let token = try #require(simulator.makeOperatorToken(at: "northwind"))
            guard way.hasPrefix("verification") else {
                _ = try await latchkey.signIn(withOperatorToken: token, at: northwind)
                return
            }
            let verification = try await latchkey.verifyPhoneNumber(operatorToken: token, at: northwind)
            #expect(verification.status == .verified)
        }
        if way.hasPrefix("verification") {
            let token = try #require(simulator.makeOperatorToken(at: "northwind"))
            _ = try await latchkey.signIn(withOperatorToken: token, at: .init(name: "northwind"))
        }
        try await act()
        let before = total(simulator, network, cellular)
        #expect(before.cached == 2, "metadata and keys, once")
        try await act()
        let after = total(simulator, network, cellular)
        return Count(
            app: after.app - before.app, phone: after.phone - before.phone, server: after.server - before.server,
            cached: after.cached - before.cached)
    }

    private func total(
        _ simulator: CarrierSimulator, _ network: LossyNetwork, _ cellular: SocketCellularNetwork
    ) -> Count {
        let log = simulator.log
        func requests(_ endpoints: [Endpoint]) -> Int { endpoints.map { log.count($0, "northwind") }.reduce(0, +) }
        let atOperator = cellular.requests.filter { $0.target.hasPrefix("/operators/") }.count
        return Count(
            app: network.count + cellular.requests.count - atOperator, phone: atOperator,
            server: requests([.token, .backchannelAuthentication, .devicePhoneNumber, .numberVerify, .simSwapCheck]),
            cached: requests([.configuration, .keys]))
    }
}
