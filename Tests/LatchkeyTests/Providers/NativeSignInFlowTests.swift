import CarrierSimulator
import Foundation
import HTTPServer
import Primitives
import TestSupport
import Testing

/// Native sign-ins over sockets, at stand-ins that give ID tokens as the providers' documentation says.
@Suite(.serialized) struct NativeSignInFlowTests {
    private static let bundleID = "com.example.app"

    /// The clients of an app at Apple: that of browsers, and the app's own one.
    private static let appleClients =
        "[{id: latchkey}, {id: \(bundleID), native_audiences: [\(bundleID)], native_code: redeem}]"

    private func standIn(_ name: String) throws -> CarrierSimulator.StandIn {
        try #require(CarrierSimulator.StandIn.named(name))
    }

    @Test("The user of the device's Google account is the one of the browser, and the token works once anywhere")
    func google() async throws {
        try await StandInWalk.with(standIn("google")) { walk in
            let browser = Browser()
            #expect(try await walk.signIn(browser).parameters["status"] == "success")
            let profile = try await walk.profile(browser)
            let posts = walk.simulator.log.count(.token, "google")
            let fields = try await walk.nativeFields(["app": "android-7.example", "user": "jane"])
            let answer = try await walk.signInNatively(fields)
            let me = try await walk.app.me(try #require(answer.token, "\(answer.response.text)"))
            #expect(answer.json["new_user"]?.bool == false)
            #expect(me.json["user_id"]?.integer == profile["user_id"]?.integer)
            #expect(me.json["name"]?.string == "Jane Doe")
            #expect(walk.simulator.log.count(.token, "google") == posts && walk.refusals == "", "\(walk.refusals)")
            #expect(try await walk.signInNatively(fields).token == nil)
            try await walk.alongside { other in
                #expect(try await walk.signInNatively(fields, by: other).token == nil)
                // The token with a nonce that is good, and a nonce that was used.
                var another = fields
                another["nonce"] = try await walk.issuedNonce()
                #expect(try await walk.signInNatively(another, by: other).error == "invalid_id_token")
                let next = try await walk.nativeFields(["user": "jane"])
                #expect(try await walk.signInNatively(next, by: other).token != nil)
            }
        }
    }

    @Test("After a kill no acknowledged session is lost, and no token is accepted twice")
    func killed() async throws {
        try await StandInWalk.with(standIn("google")) { walk in
            let directory = try TemporaryDirectory()
            let environment = [
                "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(directory.file("killed.db"))",
            ]
            let process = try LatchkeyProcess(["serve", "--config", walk.file], environment: environment)
            let app = App(port: try await process.port(after: "listening"))
            var tokens: [[String: String]] = []
            for _ in 0..<80 { tokens.append(try await walk.nativeFields(["user": "jane"], by: app)) }

            // Four apps sign in at full speed; the process is killed after 20 responses.
            let acknowledged = await withTaskGroup(of: [Int: String].self) { [tokens] group in
                let answers = CallCounter()
                for worker in 0..<4 {
                    group.addTask {
                        var sessions: [Int: String] = [:]
                        for index in stride(from: worker, to: tokens.count, by: 4) {
                            guard let session = try? await walk.signInNatively(tokens[index], by: app).token else {
                                break
                            }
                            sessions[index] = session
                            if answers.increment() == 20 { process.send(SIGKILL) }
                        }
                        return sessions
                    }
                }
                return await group.reduce(into: [:]) { $0.merge($1) { $1 } }
            }
            #expect(await process.ending().status == SIGKILL)
            #expect(acknowledged.count >= 20)

            let again = try LatchkeyProcess(["serve", "--config", walk.file], environment: environment)
            let reborn = App(port: try await again.port(after: "listening"))
            for (index, token) in tokens.enumerated() {
                if let session = acknowledged[index] {
                    #expect(try await reborn.me(session).status == 200, "\(index)")
                } else {
                    // Accepted now, unless the response was lost in the kill.
                    _ = try await walk.signInNatively(token, by: reborn)
                }
                #expect(try await walk.signInNatively(token, by: reborn).token == nil, "\(index)")
            }
            again.send(SIGTERM)
            #expect(await again.ending().status == 0)
        }
    }

    @Test("Apple's code is redeemed without a redirect URI by the app's client, and revoked with the account")
    func apple() async throws {
        try await StandInWalk.with(
            standIn("apple"), isForRefresh: true, otherClients: [Self.bundleID], clients: Self.appleClients
        ) { walk in
            let fields = try await walk.nativeFields(["audience": Self.bundleID, "user": "jane"])
            let answer = try await walk.signInNatively(fields)
            let token = try #require(answer.token, "\(answer.response.text)")
            let me = try await walk.app.me(token)
            #expect(me.json["name"]?.string == "Jane Doe" && me.json["email_verified"]?.bool == true)
            let posts = walk.simulator.log.entries.filter { $0.endpoint == .token }
            #expect(posts.count == 1 && walk.refusals == "", "\(walk.refusals)")
            #expect(posts.first?["redirect_uri"] == nil && posts.first?["client_id"] == Self.bundleID)
            let browser = Browser()
            #expect(try await walk.signIn(browser).parameters["status"] == "success")
            #expect(try await walk.profile(browser)["user_id"]?.integer == me.json["user_id"]?.integer)
            #expect(try await walk.app.asUser("DELETE", "/users/me", token).status == 200)
            let revoked = walk.simulator.log.entries.filter { $0.endpoint == .revocation }.map { $0["client_id"] ?? "" }
            #expect(revoked.sorted() == [Self.bundleID, "latchkey"] && walk.refusals == "", "\(walk.refusals)")
        }
    }

    @Test("The user of Facebook's Limited Login is the one of the browser, by keys alone")
    func facebook() async throws {
        try await StandInWalk.with(standIn("facebook")) { walk in
            let browser = Browser()
            #expect(try await walk.signIn(browser).parameters["status"] == "success")
            let profile = try await walk.profile(browser)
            let posts = walk.simulator.log.count(.token, "facebook")
            let answer = try await walk.signInNatively(try await walk.nativeFields(["user": "jane"]))
            let me = try await walk.app.me(try #require(answer.token, "\(answer.response.text)"))
            #expect(me.json["user_id"]?.integer == profile["user_id"]?.integer)
            #expect(me.json["name"]?.string == "Jane Doe")
            #expect(walk.simulator.log.count(.token, "facebook") == posts && walk.refusals == "", "\(walk.refusals)")
            let other = try await walk.nativeFields(["audience": "another-app"])
            #expect(try await walk.signInNatively(other).error == "invalid_id_token")
        }
    }

    @Test("A code that the provider refuses does not end the sign-in")
    func refusedCode() async throws {
        try await StandInWalk.with(
            standIn("apple"), isForRefresh: true, otherClients: [Self.bundleID], clients: Self.appleClients
        ) { walk in
            let first = try await walk.nativeFields(["audience": Self.bundleID])
            #expect(try await walk.signInNatively(first).token != nil && walk.refusals == "", "\(walk.refusals)")
            var second = try await walk.nativeFields(["audience": Self.bundleID])
            second["authorization_code"] = first["authorization_code"]
            #expect(try await walk.signInNatively(second).token != nil)
            #expect(walk.refusals.contains("invalid_grant"))
        }
    }

    @Test("A token of another app, and one in place of a code, are refused")
    func otherApp() async throws {
        try await StandInWalk.with(standIn("google")) { walk in
            let fields = try await walk.nativeFields(["audience": "another-app.example"])
            let answer = try await walk.signInNatively(fields)
            #expect(answer.error == "invalid_id_token", "\(answer.response.text)")
            #expect(answer.json["error_description"]?.string?.contains("native_audiences") == true)
            let genuine = try await walk.nativeFields()
            let asCode = try await walk.app.post(
                "/auth/google/sign-in",
                [
                    "code": genuine["id_token"] ?? "", "nonce": genuine["nonce"] ?? "",
                    "redirect_uri": ProviderWalk.webURI, "code_verifier": RandomSource.system.token(),
                ])
            #expect(asCode.error == "invalid_grant", "\(asCode.response.text)")
            #expect(try await walk.signInNatively(genuine).token != nil)
        }
    }
}
