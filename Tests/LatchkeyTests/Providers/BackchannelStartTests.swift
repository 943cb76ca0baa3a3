import CarrierSimulator
import Crypto
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Backchannel

/// What starts a backchannel authentication at an OpenID provider, and who may do so.
@Suite("The start of a backchannel authentication at a provider, over sockets")
struct BackchannelStartTests {
    @Test("Each hint names the user at the provider, exactly as it was sent")
    func hints() async throws {
        try await BackchannelWalk.with { walk in
            let first = try await walk.handle()
            _ = try await walk.decide()
            let session = try #require(try await walk.poll(first, after: 6).token)
            let id = try await walk.app.me(session).json["user_id"]?.integer
            let idToken = try #require(walk.simulator.latestIDToken(at: BackchannelWalk.provider))
            let hintToken = try #require(walk.simulator.makeLoginHintToken(at: BackchannelWalk.provider, user: "jane"))
            for hint in [
                // The provider knows the latest ID token that it issued.
                ["id_token_hint": idToken], ["login_hint": "+12025550123"], ["login_hint": "tel:+12025550123"],
                ["login_hint_token": hintToken],
            ] {
                let handle = try await walk.handle(hint)
                _ = try await walk.decide()
                let token = try #require(try await walk.poll(handle, after: 6).token)
                #expect(try await walk.app.me(token).json["user_id"]?.integer == id, "\(hint.keys)")
            }
        }
    }

    static let badRows: [(fields: [String: String], names: String)] = [
        ([:], "login_hint"), (["login_hint": "a", "login_hint_token": "b"], "login_hint"),
        (["login_hint": "a", "id_token_hint": "e30.e30.e30"], "id_token_hint"), (["login_hint": " a"], "login_hint"),
        (["login_hint": "a\u{7}"], "login_hint"), (["login_hint": String(repeating: "a", count: 256)], "login_hint"),
        (["login_hint_token": "a b"], "login_hint_token"), (["id_token_hint": "not a token"], "id_token_hint"),
        (["login_hint": "a", "binding_message": "two\nlines"], "binding_message"),
        (["login_hint": "a", "binding_message": "\u{202E}reversed"], "binding_message"),
        (["login_hint": "a", "binding_message": String(repeating: "m", count: 65)], "binding_message"),
        (["login_hint": "a", "requested_expiry": "0"], "requested_expiry"),
        (["login_hint": "a", "requested_expiry": "3601"], "requested_expiry"),
        (["login_hint": "a", "user_code": "a b"], "user_code"), (["login_hint": "a", "scope": "email"], "scope"),
    ]

    @Test("Fields that cannot be right are named, and nothing is sent", arguments: badRows.indices)
    func badFields(index: Int) async throws {
        let row = Self.badRows[index]
        try await BackchannelWalk.with { walk in
            let answer = try await walk.start(row.fields)
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.response)")
            #expect(answer.json["error_description"]?.string?.contains(row.names) == true)
            #expect(walk.simulator.log.count(.backchannelAuthentication) == 0)
        }
    }

    @Test("The binding message, the user code and the requested contexts reach the provider")
    func parameters() async throws {
        try await BackchannelWalk.with { walk in
            walk.setFaults(.cibaUserCode)
            let fields = ["login_hint": BackchannelWalk.ravi, "binding_message": "W4SCT 73", "acr_values": "a3"]
            for (code, status) in [(nil, 401), ("1111", 401), ("2468", 200)] as [(String?, Int)] {
                var fields = fields
                fields["user_code"] = code
                #expect(try await walk.start(fields).status == status)
            }
            #expect(walk.refusals == ["missing_user_code", "invalid_user_code"])
            let sent = try #require(walk.simulator.log.last(.backchannelAuthentication, BackchannelWalk.provider))
            #expect(sent["binding_message"] == "W4SCT 73")
            #expect(sent["acr_values"] == "a3")
            #expect(sent["client_notification_token"] == nil)
        }
    }

    @Test("A signed request has all parameters in it, and the client authenticates beside it")
    func signed() async throws {
        let key = P256.Signing.PrivateKey()
        let clientKey = try ClientKey(parsing: Secret(key.pemRepresentation))
        try await BackchannelWalk.with(
            configure: { configuration in
                for index in configuration.providers.indices where configuration.providers[index].id == "acme" {
                    configuration.providers[index].clients[0].authentication = .privateKeyJWT(clientKey)
                    configuration.providers[index].clients[0].signingKey = clientKey
                    configuration.providers[index].extensions.signedRequestObjects = .always
                }
            }, register: { $0.authentication = .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation) }
        ) { walk in
            walk.setFaults(.requestObjectRequired)
            let handle = try await walk.handle([
                "login_hint": BackchannelWalk.jane, "binding_message": "W4SCT", "requested_expiry": "60",
            ])
            let sent = try #require(walk.simulator.log.last(.backchannelAuthentication, BackchannelWalk.provider))
            #expect(sent["login_hint"] == nil && sent["request"] != nil)
            _ = try await walk.decide()
            #expect(try await walk.poll(handle, after: 6).token != nil)
            #expect(walk.refusals.isEmpty)
        }
    }

    @Test("A request belongs to the API key that started it and to its provider")
    func otherCallers() async throws {
        try await BackchannelWalk.with(
            configure: { configuration in
                configuration.apiKeys.append(.plain(Secret("other-key")))
                for index in configuration.providers.indices where configuration.providers[index].id == "globex" {
                    configuration.providers[index].rules.backchannelTokenDelivery = .poll
                }
            }
        ) { walk in
            let handle = try await walk.handle()
            _ = try await walk.decide()
            var other = walk
            other.app.apiKey = "other-key"
            #expect(try await other.poll(handle, after: 6).status == 404)
            #expect(try await other.cancel(handle).status == 404)
            for path in ["/auth/globex/backchannel/", "/auth/zenkey/backchannel/", "/auth/zenkey-async-signin/"] {
                #expect(try await walk.app.send("GET", path + handle).status == 404)
            }
            #expect(walk.polls == 0)
            #expect(try await walk.poll(handle, after: 1).token != nil)
        }
    }

    @Test("A second poll within a second is 429, and causes no request")
    func pace() async throws {
        try await BackchannelWalk.with { walk in
            let handle = try await walk.handle()
            #expect(try await walk.poll(handle, after: 6).status == 200)
            let answer = try await walk.app.send("GET", "/auth/acme/backchannel/" + handle)
            #expect(answer.status == 429 && answer.response["retry-after"] == "1")
            #expect(walk.polls == 1)
        }
    }

    @Test("Pending requests are bounded for a user, for a caller and at a provider")
    func bounds() async throws {
        let bounds: [(inout Configuration) -> Void] = [
            { $0[BackchannelSettings.self].pendingPerUser = 1 },
            { $0[BackchannelSettings.self].pendingPerCaller = 1 },
            { $0[BackchannelSettings.self].pendingPerCarrier = 1 },
        ]
        for (index, bound) in bounds.enumerated() {
            try await BackchannelWalk.with(configure: bound) { walk in
                let handle = try await walk.handle()
                #expect(try await walk.start().status == 429)
                #expect(try await walk.start(["login_hint": BackchannelWalk.ravi]).status == (index == 0 ? 200 : 429))
                _ = try await walk.cancel(handle)
                #expect(try await walk.start().status == 200)
            }
        }
    }

    @Test("One user is prompted as often as the rule allows, answered prompts included; one caller has half of it")
    func prompts() async throws {
        try await BackchannelWalk.with(
            configure: { $0.requestLimits.quotas[.promptsPerUser] = .init(count: 4, seconds: 3600) }
        ) { walk in
            for _ in 0..<2 {
                let handle = try await walk.handle()
                _ = try await walk.decide(.failed("access_denied"))
                #expect(try await walk.poll(handle, after: 6).error == "access_denied")
            }
            let refused = try await walk.start(["login_hint": BackchannelWalk.jane.uppercased()])
            #expect(refused.status == 429 && refused.error == "rate_limited")
            #expect(try await walk.start(["login_hint": BackchannelWalk.ravi]).status == 200)
        }
    }
}
