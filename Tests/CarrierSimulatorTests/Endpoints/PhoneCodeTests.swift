import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// The discovery UI for devices without the user's SIM: a number on the device, a decision on the phone.
@Suite("Phone codes")
struct PhoneCodeTests {
    let carriers = Harness()

    private static let question = [
        ("client_id", "shop"), ("redirect_uri", Harness.redirectURI), ("state", "s&1"),
    ]

    /// A waiting device: the URL of its page, and the number on it.
    private func waitingDevice() async throws -> (target: String, number: String) {
        let started = try await carriers.post("/ui/discovery-ui/codes", Self.question)
        let target = try started.headers[.location].required
        let page = try await carriers.get(target)
        #expect(page.status == .ok)
        let shown = page.text.split(separator: "<p class=\"code\">").last?.prefix { $0 != "<" } ?? ""
        return (target, String(shown.filter(\.isNumber)))
    }

    private func answer(_ number: String, _ changes: [String: String] = [:]) async throws -> Response {
        var form = ["number": number, "subscriber": "310410-ravi", "decision": "approve"]
        form.merge(changes) { $1 }
        return try await carriers.post("/phone", form.map { ($0.key, $0.value) })
    }

    @Test("The device shows a number, and the phone asks for it and for the user")
    func screens() async throws {
        let device = try await waitingDevice()
        #expect(device.number.count == 6)
        // Two of a million numbers may be the same.
        let numbers = Set([device.number, try await waitingDevice().number, try await waitingDevice().number])
        #expect(numbers.count > 1)
        let phone = try await carriers.get("/phone")
        #expect(phone.status == .ok)
        #expect(phone.text.contains("name=\"number\"") && phone.text.contains("value=\"310010-jane\" checked"))
        let spoken = "\(device.number.prefix(3)) \(device.number.suffix(3))"
        #expect(try await answer(spoken).status == .ok)
    }

    @Test("An approval on the phone returns the device once, with the user's login hint")
    func approved() async throws {
        let device = try await waitingDevice()
        #expect(try await answer(device.number).status == .ok)
        let back = try await carriers.get(device.target)
        #expect(back.status == .seeOther)
        let (address, query) = try back.destination()
        #expect(address == Harness.redirectURI)
        #expect(query["mccmnc"] == "310410" && query["state"] == "s&1" && query["error"] == nil)
        let hint = try query["login_hint_token"].required
        let asked = Forms.encode(carriers.authorizationQuery(changing: ["login_hint_token": hint]))
        let page = try await carriers.get("/carriers/310410/authorize?\(asked)")
        #expect(page.text.contains("value=\"ravi\" checked"))
        #expect(
            try await carriers.get("/carriers/310010/authorize?\(asked)").destination().query["error"]
                == "invalid_login_hint_token")
        #expect(try await carriers.get(device.target).status == .notFound, "used")
    }

    @Test("A refusal on the phone returns the device without a login hint")
    func denied() async throws {
        let device = try await waitingDevice()
        #expect(try await answer(device.number, ["decision": "deny"]).status == .ok)
        let query = try await carriers.get(device.target).destination().query
        #expect(query["error"] == "access_denied" && query["state"] == "s&1")
        #expect(query["login_hint_token"] == nil && query["mccmnc"] == nil)
    }

    @Test("A number is valid for five minutes and for one decision")
    func lifetime() async throws {
        let device = try await waitingDevice()
        carriers.clock.advance(bySeconds: 299)
        #expect(try await carriers.get(device.target).status == .ok)
        carriers.clock.advance(bySeconds: 1)
        #expect(try await answer(device.number).status == .notFound)
        #expect(try await carriers.get(device.target).status == .gone)
        let another = try await waitingDevice()
        #expect(try await answer(another.number, ["decision": "deny"]).status == .ok)
        #expect(try await answer(another.number).status == .notFound, "answered")
    }

    @Test(
        "An invalid decision changes nothing",
        arguments: [
            ["number": "000"], ["number": ""], ["subscriber": "310410-nobody"], ["subscriber": "99999-ravi"],
            ["subscriber": ""], ["decision": "perhaps"], ["decision": ""],
        ])
    func refused(changes: [String: String]) async throws {
        let device = try await waitingDevice()
        let refusal = try await answer(device.number, changes)
        #expect(refusal.status == .badRequest || refusal.status == .notFound)
        #expect(try await carriers.get(device.target).status == .ok, "it waits on")
    }

    @Test(
        "A code requires a valid discovery UI request", arguments: [("client_id", "nobody"), ("redirect_uri", "x:/")])
    func strangers(name: String, value: String) async throws {
        let form = Self.question.map { $0.0 == name ? (name, value) : $0 }
        let response = try await carriers.post("/ui/discovery-ui/codes", form)
        #expect(response.status == .badRequest && response.headers[.location] == nil)
        #expect(try await carriers.get("/ui/discovery-ui/codes/unknown").status == .notFound)
    }
}
