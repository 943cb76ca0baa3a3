import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Backchannel authentication (CIBA) at the provider `acme` of a harness, by clocks that the test moves.
struct BackchannelWalk {
    static let provider = "acme"
    static let jane = "jane.doe@example.com"
    static let ravi = "ravi.okafor@example.net"

    let harness: SignInHarness
    let clock: ManualClock
    let uptime: ManualUptime
    var app: App
    /// The provider's name in Latchkey's configuration.
    var name = Self.provider

    /// A harness whose provider has backchannel authentication, and knows in the mode ping where to notify Latchkey.
    /// - Parameter name: The provider's name in Latchkey's configuration, if `configure` gives it another one.
    static func with(
        _ mode: BackchannelTokenDeliverySetting = .poll, name: String = provider,
        configure: (inout Configuration) -> Void = { _ in },
        register: (inout CarrierSimulator.Client) -> Void = { _ in },
        encryption: CarrierSimulator.Encryption? = nil, _ body: (BackchannelWalk) async throws -> Void
    ) async throws {
        let (clock, uptime) = (ManualClock(), ManualUptime())
        try await SignInHarness.with(
            clock: clock.wallClock, uptime: uptime.uptime,
            configure: { configuration in
                for index in configuration.providers.indices where configuration.providers[index].id == provider {
                    configuration.providers[index].rules.backchannelTokenDelivery = mode
                }
                configure(&configuration)
            }, register: register, encryption: encryption
        ) { harness in
            let path = "/auth/\(name)/backchannel/notification"
            if mode == .ping {
                harness.simulator.register(
                    notificationEndpoint: "http://127.0.0.1:\(harness.app.port)\(path)", of: SignInHarness.clientID,
                    at: provider)
            }
            try await body(
                BackchannelWalk(harness: harness, clock: clock, uptime: uptime, app: harness.app, name: name))
        }
    }

    var simulator: CarrierSimulator { harness.simulator }
    /// The token requests that the provider has got.
    var polls: Int { simulator.log.tokenPosts(Self.provider) }
    private var path: String { "/auth/\(name)/backchannel" }

    func start(_ fields: [String: String] = ["login_hint": jane]) async throws -> App.Answer {
        try await app.post(path, fields)
    }

    func handle(_ fields: [String: String] = ["login_hint": jane]) async throws -> String {
        let answer = try await start(fields)
        return try #require(answer.json["auth_req_id"]?.string, "\(answer.response)")
    }

    /// - Parameter seconds: How much later, by the wall clock.
    func poll(_ handle: String, after seconds: Int64 = 0) async throws -> App.Answer {
        clock.advance(bySeconds: seconds)
        // Latchkey admits one poll a second.
        uptime.advance(by: .seconds(max(1, seconds)))
        return try await app.send("GET", path + "/" + handle)
    }

    func cancel(_ handle: String) async throws -> App.Answer { try await app.send("DELETE", path + "/" + handle) }

    /// The user of the latest request decides.
    /// - Returns: How Latchkey responded to the provider's notifications.
    func decide(_ decision: CarrierSimulator.Decision = .approved) async throws -> [Int] {
        let latest = try #require(simulator.backchannelAuthenticationRequests(at: Self.provider).last)
        return try await simulator.complete(latest, decision)
    }

    func setFaults(_ faults: CarrierSimulator.Fault...) { simulator.setFaults(Set(faults), for: Self.provider) }

    /// What the provider refused.
    var refusals: [String] { simulator.log.refusals(at: Self.provider).map(\.code) }

    /// A notification that the test makes up.
    func notify(_ body: String, token: String?) async throws -> App.Answer {
        var app = app
        app.apiKey = nil
        return try await app.send(
            "POST", path + "/notification",
            headers: ["Content-Type: application/json"] + (token.map { ["Authorization: Bearer \($0)"] } ?? []),
            body: body)
    }
}
