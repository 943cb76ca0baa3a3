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

    /// How a simulator is served with TLS, beside plain HTTP.
    public struct Encryption: Sendable {
        /// Of the listener whose address is the simulator's URL.
        public var main: TLSCredentials
        /// Of another one, on `localhost`, whose address the providers' `mtls_endpoint_aliases` have (RFC 8705 section
        /// 5); nil for none.
        public var alias: TLSCredentials?

        /// One or two listeners.
        public init(main: TLSCredentials, alias: TLSCredentials? = nil) {
            self.main = main
            self.alias = alias
        }
    }

    /// Serves the simulator with TLS, too.
    /// - Parameters:
    ///   - host: The loopback address by default, because the simulator signs in anyone who reaches it.
    ///   - port: Of plain HTTP; 0 lets the system choose.
    ///   - encryption: Adds listeners of HTTPS, the first of which has the ``baseURL``.
    /// - Throws: `ServerError` if the address cannot be bound; `TLSError` if the credentials cannot be used.
    public func start(
        host: String = "127.0.0.1", port: UInt16 = 0, encryption: Encryption,
        logger: Logger = Logger(label: "carrier-simulator")
    ) throws -> Running {
        var points = [ListeningPoint(hosts: [host], port: 0, kind: .tls(try ServerTLS(encryption.main)))]
        if let alias = encryption.alias {
            points.append(ListeningPoint(hosts: [host], port: 0, kind: .tls(try ServerTLS(alias))))
        }
        let running = try start(host: host, port: port, points, logger: logger)
        if baseURL == nil, running.addresses.count > 1 { baseURL = "https://\(running.addresses[1])" }
        if running.addresses.count > 2 {
            withState { $0.aliasBaseURL = "https://localhost:\(running.addresses[2].port)" }
        }
        return running
    }

    /// Serves the simulator. The first bound address becomes its ``baseURL`` unless it has one.
    /// - Parameters:
    ///   - host: The loopback address by default, because the simulator signs in anyone who reaches it.
    ///   - port: 0 lets the system choose.
    /// - Throws: `ServerError` if the address cannot be bound.
    public func start(
        host: String = "127.0.0.1", port: UInt16 = 0, logger: Logger = Logger(label: "carrier-simulator")
    ) throws(ServerError) -> Running {
        let running = try start(host: host, port: port, [], logger: logger)
        if baseURL == nil, let first = running.addresses.first { baseURL = "http://\(first)" }
        return running
    }

    /// - Parameter points: Served beside plain HTTP.
    private func start(
        host: String, port: UInt16, _ points: [ListeningPoint], logger: Logger
    ) throws(ServerError) -> Running {
        let router = router
        var configuration = ServerConfiguration(hosts: [host], port: port)
        configuration.listeners += points
        let server = Server(configuration: configuration, logger: logger) { request in
            try await router.respond(to: request)
        }
        let addresses = try server.start()
        return Running(simulator: self, addresses: addresses, server: server)
    }
}
