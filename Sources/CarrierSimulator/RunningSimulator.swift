public import HTTPServer
import Logging

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

    /// Serves the simulator. The first address of HTTPS, or without it of plain HTTP, becomes its ``baseURL`` unless it
    /// has one.
    /// - Parameters:
    ///   - port: Of plain HTTP; 0 lets the system choose.
    ///   - encryption: Adds listeners of HTTPS.
    /// - Throws: `ServerError` if the address cannot be bound; `TLSError` if the credentials cannot be used.
    public func start(port: UInt16 = 0, encryption: Encryption? = nil) throws -> Running {
        let router = router
        // Of this machine alone, because the simulator signs in anyone who reaches it.
        let host = "127.0.0.1"
        var configuration = ServerConfiguration(hosts: [host], port: port)
        configuration.listeners += try [encryption?.main, encryption?.alias].compactMap(\.self).map {
            ListeningPoint(hosts: [host], port: 0, kind: .tls(try ServerTLS($0)))
        }
        let server = Server(
            configuration: configuration, logger: Logger(label: "carrier-simulator"),
            handler: immediate { request in try await router.respond(to: request) })
        let addresses = try server.start()
        if baseURL == nil { baseURL = encryption == nil ? "http://\(addresses[0])" : "https://\(addresses[1])" }
        if encryption?.alias != nil { withState { $0.aliasBaseURL = "https://localhost:\(addresses[2].port)" } }
        return Running(simulator: self, addresses: addresses, server: server)
    }
}
