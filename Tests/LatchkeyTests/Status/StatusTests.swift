import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import Capsules

/// The operator's status page.
@Suite(.serialized) struct StatusTests {
    private static let operatorKey = "OPERATORS-key-0123456789abcdef"

    private static func configure(_ configuration: inout Configuration) {
        var key = APIKey.plain(Secret(operatorKey))
        key.isAdministrator = true
        configuration.apiKeys.append(key)
    }

    @Test("The events report sign-ins per minute, carriers, sessions, and failures with the failed check")
    func tells() async throws {
        let clock = ManualClock(secondsSinceEpoch: WallClock.system.now().secondsSinceEpoch)
        try await SignInHarness.with(clock: clock.wallClock) { harness in
            _ = try await harness.app.signIn(harness.authorizedResponse())
            _ = try await harness.app.signIn(harness.authorizedResponse())
            harness.simulator.setFaults([.idTokenWrongNonce], for: SignInHarness.mccmnc)
            _ = try await harness.app.signIn(harness.authorizedResponse())
            _ = try await harness.app.signIn(["client_id": "nobody"])
            let watching = try await StatusEvents(harness.app)
            #expect(watching.head.contains("Content-Type: text/event-stream; charset=utf-8\r\n"))
            let status = try await watching.next()
            await watching.close()

            let minute = try #require(status["minutes"]?.array?.last?.object)
            #expect(minute["signed_up"]?.integer == 1)
            #expect(minute["signed_in"]?.integer == 1)
            #expect(minute["failed"]?.integer == 1)
            #expect(status["sessions"]?.object?["started"]?.integer == 2)
            let carriers = status["carriers"]?.array?.compactMap(\.object) ?? []
            let issuer = harness.simulator.issuer(of: SignInHarness.mccmnc)
            let carrier = try #require(carriers.first { $0["issuer"]?.string == issuer })
            let host = issuer.flatMap { $0.split(separator: "/").dropFirst().first.map { String($0) } }
            #expect(carrier["name"]?.string == host, "the issuer of no network is configured")
            #expect(carriers.contains { $0["name"]?.string == "Carrier discovery" && $0["issuer"]?.string == "" })
            #expect(carrier["answered"]?.integer == 4)
            #expect(carrier["keys_fetched_at"]?.integer == clock.now.secondsSinceEpoch)
            let last = try #require(carrier["minutes"]?.array?.last?.object)
            #expect(last["answered"]?.integer == 4)
            #expect(try #require(last["mean_ms"]?.double) > 0)
            let failure = try #require(status["failures"]?.array?.first?.object)
            #expect(failure["check"]?.string == "nonce")
            #expect(failure["mccmnc"]?.string == SignInHarness.mccmnc)
            #expect(failure["outcome"]?.string == "invalid_id_token")
            #expect(failure["step"]?.string == "validate")
            #expect(failure["due_to"]?.string == "id_token")
        }
    }

    @Test("A sign-in that the user denied is due to the user; what the carrier refused names the step that failed")
    func denied() async throws {
        try await SignInHarness.with(
            configure: { configuration in
                configuration.providers[0].clients[0].redirectURIs = ["http://127.0.0.1/sign-in"]
            }
        ) { harness in
            let url = "http://127.0.0.1:\(harness.app.port)"
            let browser = Browser()
            let started = try await browser.get(
                url + "/auth/acme/start?client_type=web&redirect_uri=%2Fsign-in")
            let asked = try await browser.get(started.location)
            #expect(asked.status == 200)
            var form: [String: String] = [:]
            for item in Browser.query(of: started.location).items { form[item.name] = item.value }
            let back = try await browser.post(started.location.prefix { $0 != "?" } + "/deny", form: form)
            #expect(try await browser.get(back.location).location.contains("error=access_denied"))
            harness.simulator.setFaults([.tokenInvalidGrant], for: SignInHarness.mccmnc)
            _ = try await harness.app.signIn(harness.authorizedResponse())

            let watching = try await StatusEvents(harness.app)
            let status = try await watching.next()
            await watching.close()
            let failures = status["failures"]?.array?.compactMap(\.object) ?? []
            #expect(failures.map { $0["due_to"]?.string } == ["app", "user"])
            #expect(failures.last?["outcome"]?.string == "denied")
            let minutes = status["minutes"]?.array?.compactMap(\.object) ?? []
            for name in ["denied", "refused"] {
                #expect(minutes.reduce(0) { $0 + ($1[name]?.integer ?? 0) } == 1, "\(name)")
            }
            let page = try await browser.get(url + "/status").text
            #expect(page.contains("</span>Denied by the user</dt><dd>1</dd>"))
            #expect(page.contains("</span>Refused: the app</dt><dd>1</dd>"))
            let metrics = try await harness.app.send("GET", "/metrics").response.text
            #expect(metrics.contains(#"outcome="denied"} 1"#))
            #expect(failures.first?["step"]?.string == "token")
        }
    }

    @Test("Counts belong to their minute, and are dropped after an hour")
    func minutes() async throws {
        let clock = ManualClock(secondsSinceEpoch: WallClock.system.now().secondsSinceEpoch / 60 * 60)
        try await SignInHarness.with(clock: clock.wallClock) { harness in
            func look() async throws -> [JSONObject] {
                let watching = try await StatusEvents(harness.app)
                let minutes = try await watching.next()["minutes"]?.array ?? []
                await watching.close()
                return minutes.compactMap(\.object)
            }
            _ = try await harness.app.signIn(harness.authorizedResponse())
            _ = try await look()
            clock.advance(bySeconds: 60)
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let both = try await look()
            #expect(both.suffix(2).map { $0["signed_up"]?.integer } == [1, 0])
            #expect(both.suffix(2).map { $0["signed_in"]?.integer } == [0, 1])
            clock.advance(bySeconds: -60)
            #expect(try await look().map { $0["at"]?.integer } == [clock.now.secondsSinceEpoch], "a clock set back")
            clock.advance(bySeconds: 60)
            _ = try await look()
            #expect(both.last?["at"]?.integer == clock.now.secondsSinceEpoch, "the minute that it is")
            clock.advance(bySeconds: 3600)
            let later = try await look()
            #expect(later.count == 1)
            #expect(later.first?["signed_in"]?.integer == 0)
        }
    }

    @Test("The page contains the status without scripts")
    func withoutScript() async throws {
        try await SignInHarness.with { harness in
            _ = try await harness.app.signIn(harness.authorizedResponse())
            harness.simulator.setFaults([.idTokenWrongNonce], for: SignInHarness.mccmnc)
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let page = try await App(port: harness.app.port, apiKey: nil).send("GET", "/status").response.text
            let issuer = try #require(harness.simulator.issuer(of: SignInHarness.mccmnc))
            for text in [
                "Signed up</dt><dd>1</dd>", ", \(issuer)</p>", "<td>nonce</td>", "<td>\(SignInHarness.mccmnc)</td>",
                "<dt>Begun</dt><dd>1</dd>", "As it was at ", "<dt>Open connections</dt><dd>",
            ] {
                #expect(page.contains(text), "\(text)")
            }
        }
    }

    @Test("A server that makes no capsules links none")
    func withoutCapsules() async throws {
        try await SignInHarness.with(configure: { $0[CapsuleSettings.self].count = 0 }) { harness in
            harness.simulator.setFaults([.idTokenWrongNonce], for: SignInHarness.mccmnc)
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let page = try await App(port: harness.app.port, apiKey: nil).send("GET", "/status").response.text
            #expect(page.contains("<td>nonce</td>") && !page.contains("status/capsule"))
            let watching = try await StatusEvents(harness.app)
            let failures = try await watching.next()["failures"]?.array?.compactMap(\.object) ?? []
            await watching.close()
            #expect(failures.map { $0["capsule"] } == [.null])
        }
    }

    @Test("A failure leads to its capsule, on the page and in the events, for operators only")
    func capsule() async throws {
        try await SignInHarness.with(configure: Self.configure) { harness in
            harness.simulator.setFaults([.idTokenWrongNonce], for: SignInHarness.mccmnc)
            var fields = try harness.authorizedResponse()
            fields["correlation_id"] = "a&b=<i>../#?c"
            try await Self.addCapsulesOfImpossibleTimes(with: "a&b=<i>../#?c", in: harness.directory)
            _ = try await harness.app.signIn(fields)
            // Another sign-in with the same id does not take its place.
            harness.simulator.setFaults([.idTokenExpired], for: SignInHarness.mccmnc)
            var repeated = try harness.authorizedResponse()
            repeated["correlation_id"] = fields["correlation_id"]
            _ = try await harness.app.signIn(repeated)
            await harness.service.settleCapsules()
            let local = App(port: harness.app.port, apiKey: nil)
            let page = try await local.send("GET", "/status").response.text
            #expect(!page.contains("a&amp;b=") && !page.contains("a&b="))
            // The newest failure is the first.
            let link = try #require(page.split(separator: #"<a href="status/capsule?"#).dropFirst(2).first)
            let path = "/status/capsule?" + link.prefix { $0 != "\"" }
            let shown = try await local.send("GET", path)
            #expect(shown.status == 200 && shown.response["content-type"] == "application/json")
            #expect(shown.response["cache-control"] == "no-store")
            let capsule = try #require(try JSONValue(parsing: shown.response.body).object)
            #expect(capsule["correlation_id"]?.string == fields["correlation_id"])
            #expect(capsule["failure"]?.object?["check"]?.string == "nonce")
            // A browser gets a page, which links the JSON.
            let browser = ["Accept: text/html"]
            let read = try await local.send("GET", path, headers: browser)
            #expect(read.status == 200 && read.response["content-type"] == "text/html; charset=utf-8")
            #expect(read.response["content-security-policy"]?.hasPrefix("default-src 'none'; ") == true)
            let text = read.response.text
            #expect(text.contains("correlation_id: a&amp;b=&lt;i&gt;../#?c") && !text.contains("<i>"))
            #expect(text.contains(">cause: ") && text.contains("\ncheck nonce "))
            #expect(text.contains(#"<a href="../status">Back to status</a>"#))
            let json = "capsule?" + path.dropFirst("/status/capsule?".count) + "&amp;format=json"
            #expect(text.contains("<a href=\"\(json)\">JSON</a>"))
            let exported = try await local.send("GET", path + "&format=json", headers: browser)
            #expect(exported.response.body == shown.response.body)
            let ask = "<span class=\"ask\">provider (its ID token) or app (its nonce)</span>"
            #expect(page.contains("<td>nonce</td><td>validate</td><td>\(ask)</td>"))
            #expect(page.contains("<span class=\"cause\">The ID token has expired, or has no valid exp.</span>"))
            let watching = try await StatusEvents(harness.app)
            let failures = try await watching.next()["failures"]?.array?.compactMap(\.object) ?? []
            await watching.close()
            #expect(failures.map { $0["check"]?.string } == ["expiry", "nonce"])
            #expect(failures.last?["capsule"]?.string.map { path.hasSuffix("?failure=\($0)") } == true)
            #expect(failures.allSatisfy { $0["correlation_id"] == nil })

            #expect(try await local.send("GET", "/status/capsule?failure=another").status == 404)
            #expect(try await local.send("GET", "/status/capsule").status == 400)
            for (headers, status) in Self.foreign {
                #expect(try await local.send("GET", path, headers: headers).status == status, "\(headers)")
            }
        }
    }

    /// Capsules as a damaged database may have them.
    private static func addCapsulesOfImpossibleTimes(
        with correlationID: String, in directory: TemporaryDirectory
    ) async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.path + "/latchkey.db"))
        for time in [Int64.min, .max] {
            try await store.addCapsule(
                CapsuleRecord(
                    correlationID: correlationID, time: Timestamp(secondsSinceEpoch: time), cause: "", json: "{}"))
        }
        try await store.close()
    }

    @Test("Neither the page nor the events contain personal data, codes or tokens")
    func privacy() async throws {
        try await SignInHarness.with { harness in
            var fields = try harness.authorizedResponse(scope: "openid email phone", user: "jane")
            fields["correlation_id"] = "my-correlation"
            let token = try #require(try await harness.app.signIn(fields).token)
            let me = try await harness.app.me(token)
            harness.simulator.setFaults([.idTokenWrongNonce], for: SignInHarness.mccmnc)
            var failing = try harness.authorizedResponse(scope: "openid email", user: "jane")
            failing["correlation_id"] = "my-other-correlation"
            _ = try await harness.app.signIn(failing)
            let watching = try await StatusEvents(harness.app)
            var text = try await watching.nextText()
            await watching.close()
            #expect(text.contains("\"nonce\""))
            text += try await App(port: harness.app.port, apiKey: nil).send("GET", "/status").response.text
            #expect(text.contains("<td>nonce</td>"))
            let secrets =
                [fields, failing].flatMap {
                    $0.filter { !["mccmnc", "redirect_uri"].contains($0.key) }.values
                }
                + ["email", "phone_number", "zenkey_sub"].compactMap { me.json[$0]?.string } + [token, "jane"]
            #expect(secrets.count > 8)
            for secret in secrets { #expect(!text.contains(secret), "\(secret)") }
        }
    }

    private static let foreign: [(headers: [String], status: Int)] = [
        (["X-Forwarded-For: 127.0.0.1"], 404), (["Via: 1.1 proxy"], 404), (["Forwarded: for=127.0.0.1"], 404),
        (["X-API-KEY: test-key"], 403), (["X-API-KEY: unknown"], 401),
        (["X-API-KEY: unknown", "X-API-KEY: \(operatorKey)"], 401),
    ]

    @Test("A proxied request gets 404, and a key that is not an operator's is refused", arguments: foreign)
    func access(headers: [String], status: Int) async throws {
        try await SignInHarness.with(configure: Self.configure) { harness in
            let app = App(port: harness.app.port, apiKey: nil)
            for path in ["/status", "/status/events", "/admin/v1/statistics"] {
                let answer = try await app.send("GET", path, headers: headers)
                #expect(answer.status == status, "\(path)")
            }
        }
    }

    @Test("A local request needs no key, and an operator's key is accepted from any address")
    func operators() async throws {
        try await SignInHarness.with(configure: Self.configure) { harness in
            let app = App(port: harness.app.port, apiKey: nil)
            let page = try await app.send("GET", "/status")
            #expect(page.status == 200)
            let policy = try #require(page.response["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; ") && !policy.contains("unsafe"))
            #expect(page.response["cache-control"] == "no-store")
            let key = ["X-API-KEY: \(Self.operatorKey)", "X-Forwarded-For: 203.0.113.9"]
            #expect(try await app.send("GET", "/status", headers: key).status == 200)
            let statistics = "/admin/v1/statistics"
            #expect(try await app.send("GET", statistics, headers: key).status == 200)
            for query in ["days=0", "days=732", "days=-1", "days=x", "days=", "format=xml"] {
                let refused = try await app.send("GET", "\(statistics)?\(query)", headers: key)
                #expect(refused.status == 400, "\(query)")
            }
            let csv = try await app.send("GET", "\(statistics)?days=2&format=csv", headers: key).response
            #expect(csv["content-type"] == "text/csv; charset=utf-8")
            #expect(csv.text.split(separator: "\r\n").count == 3)
            let watching = try await StatusEvents(app, headers: key)
            #expect(try await watching.next()["version"]?.string != nil)
            await watching.close()
        }
    }

    @Test(
        "A request with a foreign Host gets 404 (DNS rebinding)",
        arguments: ["evil.example", "127.0.0.1.evil.example", "10.0.0.1"])
    func rebinding(host: String) async throws {
        try await SignInHarness.with { harness in
            let client = try await RawClient(port: harness.app.port, limit: .seconds(10))
            try await client.send("GET /status HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
            #expect(try await client.readResponse().status == 404)
            await client.close()
        }
    }

    @Test(
        "A local browser's request for a page of another origin gets 404, even if the API allows that origin",
        arguments: [
            ("Origin: https://app.example.com", 404), ("Origin: null", 404), ("Sec-Fetch-Site: cross-site", 404),
            ("Sec-Fetch-Site: same-site", 404), ("Sec-Fetch-Site: same-origin", 200), ("Sec-Fetch-Site: none", 200),
        ])
    func otherSites(field: String, status: Int) async throws {
        let origins = [Origin("https://app.example.com")].compactMap(\.self)
        try await SignInHarness.with(configure: { $0.allowedOrigins = origins }) { harness in
            let local = App(port: harness.app.port, apiKey: nil)
            let own = "Origin: http://127.0.0.1:\(harness.app.port)"
            for (field, status) in [(field, status), (own, 200)] {
                let answer = try await local.send("GET", "/status", headers: [field])
                #expect(answer.status == status, "\(field)")
            }
            // The first of several fields is not the whole value.
            for harmless in [own, "Sec-Fetch-Site: none"] {
                guard harmless.prefix(8) == field.prefix(8) else { continue }
                #expect(try await local.send("GET", "/status", headers: [harmless, field]).status >= 400)
            }
        }
    }

    @Test("At most sixteen clients can watch the events, and one that disconnects makes room")
    func bounded() async throws {
        try await SignInHarness.with { harness in
            var all: [StatusEvents] = []
            for _ in 0..<16 {
                let one = try await StatusEvents(harness.app)
                _ = try await one.next()
                all.append(one)
            }
            let local = App(port: harness.app.port, apiKey: nil)
            #expect(try await local.send("GET", "/status/events").status == 503)
            await all.removeLast().close()
            var room: StatusEvents?
            try await until {
                room = try? await StatusEvents(harness.app)
                return room != nil
            }
            await room?.close()
            for one in all { await one.close() }
        }
    }

    @Test("An unchanged status is sent as a comment, and a shutdown ends the events")
    func heartbeatAndDrain() async throws {
        let clock = ManualClock()
        try await SignInHarness.with(clock: clock.wallClock) { harness in
            let watching = try await StatusEvents(harness.app)
            #expect(try await watching.nextText().hasPrefix("event: status\ndata: {"))
            // The status may change, by the watcher's own connection, and by the tick of a gauge.
            var text = try await watching.nextText()
            while text.hasPrefix("event:") { text = try await watching.nextText() }
            #expect(text == ": as before\n\n\r\n")
            async let stopped = harness.service.shutdown(within: .seconds(20))
            #expect(try await watching.rest().hasSuffix("0\r\n\r\n"))
            await watching.close()
            #expect(await stopped == 0)
        }
    }
}
