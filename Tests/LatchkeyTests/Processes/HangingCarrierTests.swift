import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// One carrier accepts requests and does not respond; other carriers and signed-in users are not affected.
@Suite(.serialized) struct HangingCarrierTests {
    private static let hanging = SignInHarness.mccmnc
    private static let other = "310260"

    private func withHarness(patience: Duration, _ body: (SignInHarness, ManualClock) async throws -> Void) async throws
    {
        let clock = ManualClock()
        try await SignInHarness.with(
            clock: clock.wallClock,
            configure: { configuration in
                configuration.outbound.limits.tokenTimeout = patience
                // Fewer connections than hanging requests, to a host that all simulated carriers share.
                configuration.outbound.connectionsPerHost = 4
                configuration.outbound.bulkhead.maximumInFlight = 8
            }
        ) { harness in
            harness.simulator.setFaults([.tokenSlow], for: Self.hanging)
            try await body(harness, clock)
        }
    }

    /// Starts sign-ins at the hanging carrier and returns when it has its maximum of token requests.
    private func hang(_ count: Int, on harness: SignInHarness) async throws -> [Task<App.Answer, any Error>] {
        let tasks = try (0..<count).map { _ in
            let fields = try harness.authorizedResponse(mccmnc: Self.hanging)
            return Task { try await harness.app.signIn(fields) }
        }
        try await until { harness.simulator.log.tokenPosts(Self.hanging) >= 4 }
        return tasks
    }

    @Test("While a carrier hangs, other sign-ins and session checks succeed, and its own end with carrier_timeout")
    func meanwhile() async throws {
        try await withHarness(patience: .seconds(15)) { harness, _ in
            let first = try await harness.app.signIn(try harness.authorizedResponse(mccmnc: Self.other))
            let token = try #require(first.token)
            let waiting = try await hang(8, on: harness)
            for _ in 0..<3 {
                #expect(try await harness.app.signIn(try harness.authorizedResponse(mccmnc: Self.other)).status == 200)
                #expect(try await harness.app.me(token).status == 200)
            }
            // All of that happened before the first hanging request timed out: none occupies a connection of another
            // carrier.
            #expect(harness.simulator.log.tokenPosts(Self.hanging) == 4)
            for task in waiting {
                let answer = try await task.value
                #expect(answer.status == 504)
                #expect(answer.error == "carrier_timeout")
            }
        }
    }

    @Test("After timeouts the circuit breaker is open and codes are kept, until a sign-in succeeds after the pause")
    func openBreakers() async throws {
        try await withHarness(patience: OutboundLimits.shortTimeout) { harness, clock in
            for task in try await hang(6, on: harness) { #expect(try await task.value.status == 504) }
            let posts = harness.simulator.log.tokenPosts(Self.hanging)
            let fields = try harness.authorizedResponse(mccmnc: Self.hanging)
            let refused = try await harness.app.signIn(fields)
            #expect(refused.status == 503)
            #expect(refused.error == "temporarily_unavailable")
            #expect(refused.json["error_type"]?.string == "serverError")
            #expect(refused.response["retry-after"] == "5")
            #expect(harness.simulator.log.tokenPosts(Self.hanging) == posts)
            #expect(try await harness.app.signIn(try harness.authorizedResponse(mccmnc: Self.other)).status == 200)

            harness.simulator.setFaults([], for: Self.hanging)
            #expect(try await harness.app.signIn(fields).status == 503)
            clock.advance(bySeconds: 5)
            #expect(try await harness.app.signIn(fields).status == 200)
            #expect(try await harness.app.signIn(try harness.authorizedResponse(mccmnc: Self.hanging)).status == 200)
        }
    }
}
