import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

@Suite("Simulator on a socket")
struct RunningSimulatorTests {
    @Test("A simulator on port 0 knows its address, responds there, and stops")
    func roundTrip() async throws {
        let simulator = CarrierSimulator(clients: [.init(id: "shop", secret: Secret("x"), redirectURIs: ["app:/"])])
        let running = try simulator.start()
        let port = try running.addresses.first.required.port
        #expect(simulator.discoveryURL == "http://127.0.0.1:\(port)/.well-known/openid_configuration")
        let client = try await RawClient(port: port)
        try await client.send(
            "GET /.well-known/openid_configuration?client_id=shop&mccmnc=310010 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let response = try await client.readResponse()
        #expect(response.status == 200)
        let document = try JSONValue(parsing: response.body).object
        #expect(document?["issuer"]?.string == "http://127.0.0.1:\(port)/carriers/310010")
        await running.shutdown()
        await #expect(throws: RawClient.Failure.self) { _ = try await RawClient(port: port) }
    }

    @Test("An existing base URL is kept")
    func ownBaseURL() async throws {
        let simulator = CarrierSimulator(clients: [])
        simulator.baseURL = "https://carriers.example"
        let running = try simulator.start()
        #expect(simulator.discoveryUIURL == "https://carriers.example/ui/discovery-ui")
        await running.shutdown()
    }
}
