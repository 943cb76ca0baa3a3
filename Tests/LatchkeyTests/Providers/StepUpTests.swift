import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Redirect sign-ins that demand how the provider authenticates the user, over real sockets.
@Suite(.serialized) struct StepUpTests {
    @Test("A demand is in the authorization request, and the ID token must meet it", arguments: [false, true])
    func demand(isPushed: Bool) async throws {
        try await ProviderWalk.with { walk in
            let rows: [([String: String], CarrierSimulator.Fault?, String?)] = [
                (["max_age": "300"], nil, nil), (["max_age": "0", "prompt": "login"], nil, nil),
                (["max_age": "300"], .idTokenOldAuthentication, "auth_time"),
                (["max_age": "300"], .idTokenMissingAuthenticationTime, "auth_time"),
                (["prompt": "login"], .idTokenOldAuthentication, "auth_time"),
                (["prompt": "login"], .idTokenMissingAuthenticationTime, nil),
                (["prompt": "select_account consent"], .idTokenOldAuthentication, nil),
                (["acr_values": "a1"], nil, nil), (["acr_values": "a1"], .idTokenWrongACR, "acr"),
            ]
            for (fields, fault, check) in rows {
                let browser = Browser()
                let faults = [isPushed ? .parRequired : nil, fault].compactMap(\.self)
                walk.harness.simulator.setFaults(Set(faults), for: "acme")
                let asked = try await walk.start(browser, at: "acme", fields)
                let sent = isPushed ? walk.harness.simulator.log.last(.pushedAuthorization, "acme") : nil
                for (name, value) in fields {
                    #expect((isPushed ? sent?[name] : asked.parameters[name]) == value, "\(name)")
                }
                let done = try await browser.get(try await walk.approved(browser, asked))
                let expected = check == nil ? "success" : "failure"
                #expect(done.parameters["status"] == expected, "\(fields) \(done.location)")
                guard let check else { continue }
                #expect(done.parameters["error"] == "invalid_id_token")
                #expect(done.parameters["error_description"]?.contains("(\(check))") == true, "\(done.location)")
            }
        }
    }

    @Test("A provider that must show a page although the start forbids it ends the sign-in with its code")
    func interaction() async throws {
        try await ProviderWalk.with { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme", ["prompt": "none", "acr_values": "a3"])
            let done = try await browser.get(try await walk.approved(browser, asked))
            #expect(done.parameters["status"] == "failure")
            #expect(done.parameters["error"] == "interaction_required")
            #expect(done.parameters["error_description"]?.contains("prompt=none") == true, "\(done.location)")
        }
    }

    @Test("A provider without ID tokens confirms no time, so that a start with max_age is refused")
    func withoutIDTokens() async throws {
        try await ProviderWalk.with { walk in
            let refused = try await walk.start(Browser(), at: "meetings", ["max_age": "300"])
            #expect(refused.status == 400)
        }
    }
}
