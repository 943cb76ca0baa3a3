import Foundation
public import HTTPServer
import LatchkeyAPI
public import LatchkeyConfiguration
public import Logging
package import Observability
import OpenIDConnect
import OutboundHTTP
public import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization
import Tracing

/// A whole Latchkey: made of a configuration, started, and shut down.
public final class LatchkeyService: Sendable {
    public let logger: Logger
    /// As it was when the service was made.
    let configuration: Configuration
    /// As it was at the last reload.
    let reloaded: Mutex<Configuration>
    let logThreshold: LogThreshold
    private let store: SQLStore
    private let client: CurlHTTPClient
    let api: LatchkeyAPI
    private let publicAddress: BaseURL
    private let server: Server
    private let listeners: [ListeningPoint]
    let certificates: CertificateRenewal?
    private let housekeeping: Housekeeping
    private let refresh: BackgroundRefresh
    private let metrics: ServiceMetrics
    private let board: StatusBoard
    /// What goes on in the background from the start to the shutdown.
    private let background = Mutex<[Task<Void, Never>]>([])

    /// Opens the database and puts the parts together. Nothing listens yet.
    ///
    /// The tracer that is in force now, if one is (`InstrumentationSystem.bootstrap`, or `withTracer` around this), is told of
    /// each request and of each request to a carrier or provider as a span.
    /// - Throws: ``LatchkeyStartError``.
    public convenience init(configuration: Configuration, clock: WallClock = .system) throws {
        try self.init(configuration: configuration, demonstration: nil, clock: clock)
    }

    /// - Parameter demonstration: Told to pages, where all of it is one.
    init(configuration: Configuration, demonstration: Demonstration?, clock: WallClock = .system) throws {
        MemoryHeaps.keepSmall()
        let metrics = ServiceMetrics(maximumDescriptors: OpenFileLimit.raise())
        let board = StatusBoard(metrics, clock: clock)
        let tracer = LatchkeyService.presentTracer
        logThreshold = LogThreshold(configuration.log.level.loggerLevel)
        let logger = Logger(configuration.log, threshold: logThreshold, clock: clock)
        self.configuration = configuration
        reloaded = Mutex(configuration)
        self.metrics = metrics
        self.board = board
        self.logger = logger

        // What sign-ins are made of: the records, the way out, whoever is asked.
        store = try LatchkeyService.openStore(configuration, observer: metrics.store.observer)
        client = try LatchkeyService.makeClient(configuration.outboundHTTP)
        let relyingParties = configuration.relyingParties(
            http: TracedClient(client: client, tracer: tracer), clock: clock, metrics: metrics.carriers)
        try LatchkeyService.checkProviders(configuration, relyingParties)
        let useCases = UseCases(
            configuration: configuration.signIn, relyingParties: relyingParties, store: store, logger: logger,
            clock: clock,
            observer: { [signIns = metrics.signIns] in
                signIns.count($0)
                board.note($0)
            })
        metrics.registry.add(metrics.store.metrics { [store] in store.statistics })
        metrics.add(client)
        metrics.registry.add(metrics.carriers.metrics(of: relyingParties, clock: clock))
        metrics.registry.add(ServerMetrics.metrics(of: useCases.sessions))

        // What they are asked for by.
        publicAddress = BaseURL(configuration.publicURL?.text)
        let status = StatusSource(board, metrics, relyingParties, useCases.sessions, store, clock: clock)
        api = LatchkeyAPI(
            useCases: useCases, apiKeys: configuration.acceptedKeys,
            allowedOrigins: configuration.allowedOrigins.map(\.text), clientOrigins: configuration.clientOrigins,
            files: LatchkeyService.pages(demonstration, logger), publicAddress: publicAddress,
            compatibility: Compatibility(configuration.compatibility), limits: configuration.requestLimits,
            operatorPages: configuration.operatorPages(
                metrics: { await metrics.page() }, status: { await status.status() }),
            version: LatchkeyVersion.text, demonstration: demonstration, tracer: tracer, logger: logger)
        certificates = try CertificateRenewal(configuration.tls, clock: clock, logger: logger)
        let serverConfiguration = configuration.server(certificates?.tls, metricsHandler: api.metricsHandler)
        listeners = serverConfiguration.listeners
        server = Server(
            configuration: serverConfiguration, logger: logger, errorRenderer: api.errorRenderer,
            handler: api.handler(observedBy: metrics.add(api)))
        metrics.add(server, certificates)
        status.watch(api, server)

        // What goes on beside.
        refresh = BackgroundRefresh(relyingParties: Array(relyingParties.values), logger: logger)
        housekeeping = Housekeeping(
            store: store, auditRetention: configuration.audit.retention, signingKeys: useCases.signingKeys,
            sessions: useCases.sessions, clock: clock, logger: logger)
        store.watch { [sessions = useCases.sessions] change in sessions.hear(change) }
    }

    /// - Throws: ``LatchkeyStartError`` if there is nobody to sign in with, or nothing to keep their tokens under.
    private static func checkProviders(
        _ configuration: Configuration, _ relyingParties: [String: RelyingParty]
    ) throws {
        guard !relyingParties.isEmpty else {
            throw LatchkeyStartError(.configuration, "neither zenkey.discovery_url nor providers is set")
        }
        guard !configuration.vaultKeys.isEmpty || !configuration.providers.contains(where: \.storesTokens) else {
            throw LatchkeyStartError(
                .configuration, "a provider has store_tokens, and vault.encryption_keys is not set")
        }
    }

    /// The files of the site; says so if there are none.
    private static func pages(_ demonstration: Demonstration?, _ logger: Logger) -> StaticFiles {
        if !hasPages {
            logger.warning(
                "there are no pages to serve: start latchkey in a directory that has a folder of this name",
                metadata: ["folder": "\(pagesFolder)"])
        }
        return StaticFiles(siteIn: pagesFolder, demonstration: demonstration, logger: logger)
    }

    /// Listens and serves.
    /// - Returns: The addresses bound.
    /// - Throws: ``LatchkeyStartError`` if an address cannot be bound.
    public func start() throws -> [SocketAddress] {
        do throws(ServerError) {
            return try listen()
        } catch {
            let remedy =
                switch error.code {
                case .unknownHost: "Set http.host to an address of this machine"
                case .addressInUse:
                    "Stop the server that is running there, or choose another with http.port or tls.port"
                case .cannotListen: "Choose another with http.host and http.port, or tls.host and tls.port"
                }
            throw LatchkeyStartError(.network, "\(error). \(remedy)")
        }
    }

    /// As ``start()``, for who has other remedies for a taken address.
    func listen() throws(ServerError) -> [SocketAddress] {
        let addresses = try server.start()
        if let local = addresses.map({ "\($0)" }).first(where: { $0.hasPrefix("127.") || $0.hasPrefix("[::1]") }) {
            publicAddress.settle("http://" + local)
        }
        background.withLock { tasks in
            tasks = [
                Task { [housekeeping] in await housekeeping.run() }, Task { [refresh] in await refresh.run() },
                Task { [certificates] in await certificates?.run() },
                Task { [metrics, server] in await metrics.loops.run(server) },
                Task { [board] in await board.run() },
            ]
        }
        return addresses
    }

    /// The URLs of the addresses that ``start()`` has given.
    public func urls(of addresses: [SocketAddress]) -> [String] {
        let schemes = listeners.flatMap { point -> [String] in
            if case .tls = point.kind { return point.hosts.map { _ in "https" } }
            return point.hosts.map { _ in "http" }
        }
        return zip(schemes, addresses).map { "\($0)://\($1)" }
    }

    /// Stops: `/readyz` says 503, nothing new is taken, what runs is finished within the limit, the database is closed.
    /// - Returns: How many connections had to be cut.
    @discardableResult
    public func shutdown(within limit: Duration) async -> Int {
        api.beginDraining()
        let cut = await server.shutdown(within: limit)
        for task in background.withLock({ $0 }) { task.cancel() }
        await client.shutdown()
        await housekeeping.writeLastSeen()
        do {
            try await store.close()
        } catch {
            logger.error("the database did not close cleanly", metadata: ["error": "\(error.code)"])
        }
        return cut
    }

    /// Does now what is otherwise done once a minute. For tests, whose clocks do not wait for it.
    package func keepSigningKeys() async { await housekeeping.keepSigningKeys() }

    /// What is told of at `GET /metrics`, by name.
    package var metricDescriptions: [MetricDescription] { metrics.registry.descriptions }

    /// Waits until all log lines are written. For the end of the process.
    public func flushLog() { LogSink.standardError.flush() }

    /// Nil for one that does nothing.
    private static var presentTracer: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }

    /// Where the pages are, from the working directory.
    private static let pagesFolder = "Public"

    static var hasPages: Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: pagesFolder)) ?? []
        return names.contains { !$0.hasPrefix(".") || $0 == ".well-known" }
    }

    static func openStore(_ configuration: Configuration, observer: StoreObserver? = nil) throws -> SQLStore {
        do throws(StorageError) {
            return
                switch configuration.engine
            {
            case .sqlite(let sqlite): try SQLStore(configuration: sqlite, observer: observer)
            case .postgres(let postgres): try SQLStore(configuration: postgres, observer: observer)
            }
        } catch {
            throw LatchkeyStartError(.database, "the database at \(configuration.database.url): \(error.reason)")
        }
    }

    static func makeClient(_ configuration: OutboundHTTPConfiguration) throws -> CurlHTTPClient {
        do throws(OutboundHTTPStartError) {
            return try CurlHTTPClient(configuration)
        } catch {
            throw LatchkeyStartError(.outbound, "\(error)")
        }
    }
}

extension Logger {
    /// A logger to standard error, in the configured format.
    init(_ configuration: Configuration.Log, threshold: LogThreshold, clock: WallClock) {
        let format = configuration.format == .json ? LogFormat.json : .text
        self.init(label: "latchkey") { label in
            var handler = StructuredLogHandler(
                label: label, threshold: threshold, format: format, sink: .standardError, clock: clock)
            handler.metadataProvider = .ofTrace
            return handler
        }
    }
}
