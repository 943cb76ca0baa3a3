public import HTTPServer
public import Logging

extension CarrierSimulator {
    /// A simulator behind a server on a socket.
    public struct Running: Sendable {
        public let simulator: CarrierSimulator
        /// The addresses bound, with their real ports.
        public let addresses: [SocketAddress]
        private let server: Server

        fileprivate init(simulator: CarrierSimulator, addresses: [SocketAddress], server: Server) {
            self.simulator = simulator
            self.addresses = addresses
            self.server = server
        }

        /// Stops taking requests, finishes those under way, and closes what is left after `limit`.
        public func shutdown(within limit: Duration = .seconds(1)) async {
            _ = await server.shutdown(within: limit)
        }
    }

    /// Serves the simulator, and makes the first address bound its ``baseURL`` unless it has one.
    /// - Parameters:
    ///   - host: whoever reaches it can sign in as anybody; so the loopback address, unless there is a good reason.
    ///   - port: 0 lets the system choose.
    /// - Throws: `ServerError` if the address cannot be bound.
    public func start(
        host: String = "127.0.0.1", port: UInt16 = 0, logger: Logger = Logger(label: "carrier-simulator")
    ) throws(ServerError) -> Running {
        let router = router
        let server = Server(configuration: ServerConfiguration(hosts: [host], port: port), logger: logger) { request in
            try await router.respond(to: request)
        }
        let addresses = try server.start()
        if baseURL == nil, let first = addresses.first { baseURL = "http://\(first)" }
        return Running(simulator: self, addresses: addresses, server: server)
    }
}
