public import HTTPServer
public import Logging

extension CarrierSimulator {
    /// A simulator that a server on a socket serves.
    public struct Running: Sendable {
        /// The simulator that is served.
        public let simulator: CarrierSimulator
        /// The bound addresses, with their real ports.
        public let addresses: [SocketAddress]
        fileprivate let server: Server

        /// Stops accepting requests, finishes the present ones, and closes the remaining connections after `limit`.
        public func shutdown(within limit: Duration = .seconds(1)) async {
            _ = await server.shutdown(within: limit)
        }
    }

    /// Serves the simulator. The first bound address becomes its ``baseURL`` unless it has one.
    /// - Parameters:
    ///   - host: The loopback address by default, because the simulator signs in anyone who reaches it.
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
