import Foundation
import LatchkeyAPI
import LatchkeyConfiguration
import Primitives
import TestSupport
import Testing

/// Limits that all instances on one database share.
@Suite struct SharedLimitTests {
    @Test(
        "Changes of one account are counted across all instances, and each instance says how long to wait",
        arguments: [false, true])
    func changes(isPostgres: Bool) async throws {
        let clock = ManualClock(secondsSinceEpoch: Int64(Date().timeIntervalSince1970))
        let url = isPostgres ? try PostgresURL(Secret(PostgresCluster.shared().makeSchema())) : nil
        try await SignInHarness.with(
            clock: clock.wallClock,
            configure: { configuration in
                if let url { configuration.database.url = .postgres(url) }
                configuration.requestLimits.quotas[.changesPerUser] = .init(count: 4, seconds: 40)
            }
        ) { harness in
            try await harness.withInstance(clock: clock.wallClock) { instance, _ in
                let token = try #require(try await harness.app.signIn(harness.authorizedResponse()).token)
                func change(_ app: App, _ number: Int) async throws -> App.Answer {
                    try await app.asUser("PATCH", "/users/me", token, ["name": "Jane \(number)"])
                }
                for number in 0..<4 {
                    #expect(try await change(number % 2 == 0 ? harness.app : instance, number).status == 200)
                }
                // Neither instance has accepted more than two.
                for app in [harness.app, instance] {
                    let refused = try await change(app, 5)
                    #expect(refused.status == 429)
                    #expect(refused.json["error"]?.string == "rate_limited")
                    #expect(refused.response["retry-after"] == "10")
                    #expect(refused.response["ratelimit-policy"] == #""account";q=4;w=40"#)
                }
                clock.advance(bySeconds: 10)
                #expect(try await change(instance, 6).status == 200)
                #expect(try await change(harness.app, 7).status == 429)
            }
        }
    }
}
