import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import Testing

@Suite struct CarrierDownTests {
    @Test("An unreachable discovery service is 502 with the error type networkFailure")
    func down() async throws {
        let nowhere = EndpointURL("http://127.0.0.1:9/x", policy: .allowLoopbackHTTP)
        try await SignInHarness.with(configure: { $0.zenkey.discoveryURL = nowhere }) { harness in
            let answer = try await harness.app.signIn(try harness.authorizedResponse())
            #expect(answer.status == 502)
            #expect(answer.json["error_type"]?.string == "networkFailure")
        }
    }
}
