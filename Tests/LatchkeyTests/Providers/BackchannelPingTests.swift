import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Backchannel authentication at an OpenID provider in the mode ping, over sockets (CIBA Core section 10.2).
@Suite("Backchannel authentication at a provider, in the mode ping, over sockets")
struct BackchannelPingTests {
    typealias Fault = CarrierSimulator.Fault

    @Test("A new user and a known one are signed in at once after the ping")
    func users() async throws {
        try await BackchannelWalk.with(.ping) { walk in
            for isNew in [true, false] {
                let handle = try await walk.handle(["login_hint": BackchannelWalk.jane, "scope": "openid email"])
                #expect(try await walk.poll(handle, after: 6).status == 200)
                #expect(try await walk.decide() == [204])
                let done = try await walk.poll(handle)
                #expect(done.json["new_user"]?.bool == isNew, "\(done.response)")
                let me = try await walk.app.me(try #require(done.token))
                #expect(me.json["email"]?.string == BackchannelWalk.jane)
            }
            // One token request for each sign-in.
            #expect(walk.polls == 2)
            #expect(walk.refusals.isEmpty)
        }
    }

    @Test("A denial is pinged, too, and fetched from the token endpoint")
    func denied() async throws {
        try await BackchannelWalk.with(.ping) { walk in
            for (code, status) in [("access_denied", 401), ("transaction_failed", 401), ("expired_token", 400)] {
                let handle = try await walk.handle()
                #expect(try await walk.decide(.failed(code)) == [204])
                let answer = try await walk.poll(handle)
                #expect(answer.status == status && answer.error == code)
            }
        }
    }

    /// A provider's ping, and how Latchkey responds.
    static let rows: [(fault: Fault, statuses: [Int], isSignedIn: Bool)] = [
        (.notificationWrongToken, [401], false), (.notificationMissingToken, [401], false),
        (.notificationOtherID, [401], false), (.notificationLost, [], false),
        (.notificationTwice, [204, 204], true), (.notificationWithTokens, [204], true),
    ]

    @Test("A ping counts with the token of its request only; without one the user waits, and is signed in nevertheless")
    func pings() async throws {
        for row in Self.rows {
            try await BackchannelWalk.with(.ping) { walk in
                walk.setFaults(row.fault)
                let handle = try await walk.handle()
                #expect(try await walk.decide() == row.statuses, "\(row.fault)")
                let answer = try await walk.poll(handle)
                #expect((answer.token != nil) == row.isSignedIn, "\(row.fault): \(answer.response)")
                #expect(walk.polls == (row.isSignedIn ? 1 : 0), "\(row.fault)")
                guard !row.isSignedIn else { return }
                #expect(try await walk.poll(handle, after: 31).token != nil, "\(row.fault)")
            }
        }
    }

    @Test("A ping before the response to its request is not lost")
    func early() async throws {
        try await BackchannelWalk.with(.ping) { walk in
            walk.setFaults(.notificationBeforeResponse)
            let handle = try await walk.handle()
            #expect(try await walk.poll(handle).token != nil)
        }
    }

    @Test("A ping with the token of one request and the id of another has no effect on either")
    func crossed() async throws {
        try await BackchannelWalk.with(.ping) { walk in
            let provider = BackchannelWalk.provider
            let first = try await walk.handle()
            let firstToken = try #require(
                walk.simulator.log.last(.backchannelAuthentication, provider)?["client_notification_token"])
            let second = try await walk.handle(["login_hint": BackchannelWalk.ravi])
            let secondToken = try #require(
                walk.simulator.log.last(.backchannelAuthentication, provider)?["client_notification_token"])
            #expect(firstToken != secondToken)
            let ids = walk.simulator.backchannelAuthenticationRequests(at: provider)
            #expect(ids.count == 2)
            for (body, token, status) in [
                (#"{"auth_req_id":"\#(ids[1])"}"#, firstToken, 401),
                (#"{"auth_req_id":"\#(ids[0])"}"#, secondToken, 401),
                (#"{"auth_req_id":"unknown"}"#, firstToken, 401), ("{}", firstToken, 400), ("[]", firstToken, 400),
                (#"{"auth_req_id":"\#(ids[0])"}"#, first, 401), (#"{"auth_req_id":"\#(ids[0])"}"#, "", 401),
            ] as [(String, String, Int)] {
                #expect(try await walk.notify(body, token: token).status == status, "\(body)")
            }
            #expect(try await walk.notify(#"{"auth_req_id":"\#(ids[0])"}"#, token: nil).status == 401)
            for handle in [first, second] { #expect(try await walk.poll(handle).status == 200) }
            #expect(walk.polls == 0)
            // The right pair counts.
            #expect(try await walk.notify(#"{"auth_req_id":"\#(ids[0])"}"#, token: firstToken).status == 204)
            #expect(try await walk.poll(first).status == 200)
            #expect(walk.polls == 1)
        }
    }

    @Test("A ping after the end of its request is accepted and changes nothing")
    func late() async throws {
        try await BackchannelWalk.with(.ping) { walk in
            let handle = try await walk.handle()
            #expect(try await walk.cancel(handle).status == 200)
            #expect(try await walk.decide() == [204])
            #expect(try await walk.poll(handle).status == 400)
            #expect(walk.polls == 0)
        }
    }

    @Test("The instance that gets the ping need not be the one that is polled")
    func instances() async throws {
        try await BackchannelWalk.with(.ping) { walk in
            let handle = try await walk.handle()
            try await walk.harness.withInstance(clock: walk.clock.wallClock, uptime: walk.uptime.uptime) { app, _ in
                var other = walk
                other.app = app
                let statuses = try await walk.decide()
                #expect(statuses == [204])
                #expect(try await other.poll(handle).token != nil)
            }
        }
    }
}
