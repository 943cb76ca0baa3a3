import Foundation
import LatchkeyAPI
import LatchkeyConfiguration
import Primitives
import TestSupport
import Testing

/// Limits that hold for all copies on one database together.
@Suite struct SharedLimitTests {
    @Test(
        "Changes of one account are counted over all copies, and each says for how long to wait",
        arguments: [false, true])
    func changes(isPostgres: Bool) async throws {
        let clock = ManualClock(secondsSinceEpoch: Int64(Date().timeIntervalSince1970))
        let url = isPostgres ? try PostgresURL(Secret(PostgresCluster.shared().makeSchema())) : nil
        try await Stage.with(
            clock: clock.wallClock,
            configure: { configuration in
                if let url { configuration.database.url = .postgres(url) }
                configuration.requestLimits.changesPerUser = .init(count: 4, seconds: 40)
            }
        ) { stage in
            try await stage.withCopy(clock: clock.wallClock) { copy, _ in
                let token = try #require(try await stage.app.signIn(stage.authorizedResponse()).token)
                func change(_ app: App, _ number: Int) async throws -> App.Answer {
                    try await app.asUser("PATCH", "/users/me", token, ["name": "Jane \(number)"])
                }
                for number in 0..<4 {
                    #expect(try await change(number % 2 == 0 ? stage.app : copy, number).status == 200)
                }
                // Neither has let through more than two.
                for app in [stage.app, copy] {
                    let refused = try await change(app, 5)
                    #expect(refused.status == 429)
                    #expect(refused.json["error"]?.string == "rate_limited")
                    #expect(refused.response["retry-after"] == "10")
                    #expect(refused.response["ratelimit-policy"] == #""account";q=4;w=40"#)
                }
                clock.advance(bySeconds: 10)
                #expect(try await change(copy, 6).status == 200)
                #expect(try await change(stage.app, 7).status == 429)
            }
        }
    }
}
