#if canImport(Network)
    import Foundation
    import Network

    /// The phone's cellular interface (Network.framework). It works while Wi-Fi is connected, and needs no entitlement.
    public struct CellularInterface: CellularNetwork {
        /// The interface of this phone.
        public init() {}

        /// Opens a connection over the cellular interface and no other.
        /// - Throws: `NWError` if the phone has no such interface, mobile data is off, or the host does not accept.
        public func connect(to endpoint: CellularEndpoint) async throws -> any CellularConnection {
            guard let port = NWEndpoint.Port(rawValue: endpoint.port) else { throw NWError.posix(.EINVAL) }
            let parameters = NWParameters(tls: endpoint.usesTLS ? NWProtocolTLS.Options() : nil)
            parameters.requiredInterfaceType = .cellular
            // A proxy or a VPN would hide the network from the operator.
            parameters.preferNoProxies = true
            parameters.prohibitedInterfaceTypes = [.wifi, .wiredEthernet, .loopback, .other]
            let connection = NWConnection(host: .init(endpoint.host), port: port, using: parameters)
            let opened = NetworkConnection(connection)
            try await withTaskCancellationHandler {
                try await opened.start()
            } onCancel: {
                opened.close()
            }
            return opened
        }
    }

    /// A connection of Network.framework, whose handlers run one after the other on the queue.
    ///
    /// Sendable without the compiler's check: both properties are constant, and any thread may use what they hold.
    private final class NetworkConnection: CellularConnection, @unchecked Sendable {
        private let connection: NWConnection
        private let queue = DispatchQueue(label: "latchkey.cellular")

        init(_ connection: NWConnection) { self.connection = connection }

        deinit { connection.cancel() }

        /// Waits until the connection is ready.
        func start() async throws {
            let results = AsyncStream<Result<Void, any Error>> { continuation in
                connection.stateUpdateHandler = { state in
                    switch state {
                    case .ready: continuation.yield(.success(()))
                    // Without a cellular interface a connection waits for one.
                    case .failed(let error), .waiting(let error): continuation.yield(.failure(error))
                    case .cancelled: continuation.yield(.failure(CancellationError()))
                    default: break
                    }
                }
            }
            connection.start(queue: queue)
            for await result in results { return try result.get() }
            throw CancellationError()
        }

        func send(_ bytes: Data) async throws {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                connection.send(
                    content: bytes,
                    completion: .contentProcessed { error in
                        if let error { done.resume(throwing: error) } else { done.resume() }
                    })
            }
        }

        func receive(upTo limit: Int) async throws -> Data? {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Data?, any Error>) in
                connection.receive(minimumIncompleteLength: 1, maximumLength: limit) { data, _, _, error in
                    if let data, !data.isEmpty {
                        done.resume(returning: data)
                    } else if let error {
                        done.resume(throwing: error)
                    } else {
                        done.resume(returning: nil)
                    }
                }
            }
        }

        func close() { connection.cancel() }
    }
#endif
