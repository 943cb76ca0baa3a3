import FoundationEssentials
public import HTTPServer
package import LatchkeyAPI
public import LatchkeyConfiguration
public import Logging
package import Observability
package import OpenIDConnect
import OutboundHTTP
public import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization
import TelemetryExport
import Tracing

/// A Latchkey server: made from a configuration, started, and shut down.
public final class LatchkeyService: Sendable {
    /// The logger of the service, which writes to standard error.
    public let logger: Logger
    /// The configuration of the start.
    let configuration: Configuration
    let clock: WallClock
    /// The configuration of the last reload.
    let reloaded: Mutex<Configuration>
    let logThreshold: LogThreshold
    private let store: SQLStore
    private let client: OutboundHTTPClient
    /// Nil if nothing is exported.
    private let telemetry: Telemetry?
    let api: LatchkeyAPI
    private let baseURL: BaseURL
    private let server: Server
    private let listeners: [ListeningPoint]
    let certificates: CertificateRenewal?
    private let housekeeping: Housekeeping
    private let capsules: CapsuleRecorder?
    let sealer: AuditSealer
    private let refresh: BackgroundRefresh
    private let metrics: ServiceMetrics
    private let board: StatusBoard
    /// The background tasks from the start to the shutdown.
    private let background = Mutex<[Task<Void, Never>]>([])
    /// The sealing of the audit log from the start to the shutdown.
    private let sealing = Mutex<Task<Void, Never>?>(nil)

    /// Opens the database and assembles the service. It does not listen yet.
    ///
    /// The current tracer (`InstrumentationSystem.bootstrap`, or `withTracer` around this call) gets a span for each
    /// request, each step of a sign-in, and each outbound request. If there is one, `telemetry.otlp_endpoint` gets
    /// metrics only.
    /// - Throws: ``LatchkeyStartError``.
    public convenience init(configuration: Configuration, clock: WallClock = .system) throws {
        try self.init(configuration: configuration, demonstration: nil, clock: clock)
    }

    /// A service whose requests to providers go through another client.
    /// - Parameter wrap: Makes it from the service's own.
    package convenience init(
        configuration: Configuration, sendingThrough wrap: @escaping (any HTTPClient) -> any HTTPClient
    ) throws {
        try self.init(configuration: configuration, demonstration: nil, sendingThrough: wrap)
    }

    /// - Parameters:
    ///   - demonstration: For the pages of `latchkey demo`.
    ///   - wrap: Makes the client of requests to providers from the service's own.
    package init(
        configuration: Configuration, demonstration: Demonstration?, clock: WallClock = .system,
        uptime: Uptime = .system, sendingThrough wrap: (any HTTPClient) -> any HTTPClient = { $0 }
    ) throws {
        let metrics = ServiceMetrics(maximumDescriptors: OpenFileLimit.raise())
        let board = StatusBoard(metrics, CarrierNames(configuration), clock: clock)
        logThreshold = LogThreshold(configuration.log.level.loggerLevel)
        let logger = Logger(configuration.log, threshold: logThreshold, clock: clock)
        self.configuration = configuration
        self.clock = clock
        reloaded = Mutex(configuration)
        self.metrics = metrics
        self.board = board
        self.logger = logger
        telemetry = try Telemetry(configuration, clock: clock, logger: logger)
        let tracer = LatchkeyService.currentTracer ?? telemetry?.tracer
        metrics.registry.add(TelemetryExporter.metrics(of: telemetry?.exporter))

        // The store, the outbound client and the use cases.
        store = try LatchkeyService.openStore(configuration, observer: metrics.store.observer)
        if let problem = store.problemAtStart { LatchkeyService.log(problem, logger) }
        client = try LatchkeyService.makeClient(configuration.outboundHTTP)
        let stories = demonstration?.stories
        let providers = configuration.signInProviders(
            http: LatchkeyService.observed(wrap(client), stories, tracer, logger), store: store, clock: clock,
            metrics: metrics.carriers, stories: stories, logger: logger)
        let relyingParties = providers.relyingParties
        try LatchkeyService.checkProviders(configuration, providers)
        capsules = LatchkeyService.capsules(configuration.capsules, store, metrics.capsules, clock: clock)
        let useCases = UseCases(
            providers: providers, configuration: configuration.signIn, store: store, logger: logger, clock: clock,
            uptime: uptime, capsules: capsules,
            observer: LatchkeyService.observer(metrics.signIns, board, stories, tracer),
            verificationObserver: { [verifications = metrics.verifications] in verifications.count($0) })
        metrics.registry.add(metrics.store.metrics { [store] in store.statistics })
        metrics.add(client)
        metrics.registry.add(metrics.carriers.metrics(of: relyingParties, clock: clock))
        metrics.registry.add(ServerMetrics.metrics(of: useCases.sessions))
        metrics.registry.add(ServerMetrics.metrics(of: useCases.redirectSignIn, useCases.backchannelAuthentication))

        // The API and the server.
        baseURL = BaseURL(configuration.publicURL?.text)
        let status = StatusSource(board, metrics, relyingParties, useCases.sessions, store, clock: clock)
        let pages = configuration.administratorPages(
            metrics: { await metrics.page() }, status: { await status.status() },
            capsule: { try await status.capsule(ofFailure: $0) })
        api = try LatchkeyService.api(
            configuration, useCases, pages, demonstration, baseURL: baseURL, uptime: uptime, tracer: tracer,
            logger: logger)
        certificates = try CertificateRenewal(configuration.tls, clock: clock, logger: logger)
        let serverConfiguration = configuration.server(certificates?.tls, metricsHandler: api.metricsHandler)
        listeners = serverConfiguration.listeners
        let observe = metrics.add(api)
        server = Server(
            configuration: serverConfiguration, logger: logger, errorRenderer: api.errorRenderer,
            loadShedder: api.loadShedder(observedBy: observe), handler: api.immediateHandler(observedBy: observe))
        metrics.add(server, certificates)
        status.watch(api, server)

        // The background tasks.
        refresh = BackgroundRefresh(relyingParties: Array(relyingParties.values), logger: logger)
        housekeeping = Housekeeping(
            store: store, auditRetention: configuration.auditRetention, capsules: configuration.capsules,
            signingKeys: useCases.signingKeys, sessions: useCases.sessions, clock: clock, logger: logger)
        sealer = AuditSealer(
            store: store, keys: useCases.signingKeys, retention: configuration.auditRetention, clock: clock,
            logger: logger)
        store.watch { [sessions = useCases.sessions] change in sessions.storeDidChange(change) }
    }

    /// Tells all who count, show or export sign-ins of the end of each.
    private static func observer(
        _ metrics: SignInMetrics, _ board: StatusBoard, _ stories: SignInStories?, _ tracer: (any Tracer)?
    ) -> SignInObserver {
        let spans = tracer.map { SignInSpans(tracer: $0) }
        return { report in
            metrics.count(report)
            board.note(report)
            stories?.note(report)
            spans?.record(report)
        }
    }

    /// Nil if no capsules are kept.
    private static func capsules(
        _ configuration: Configuration.Capsules, _ store: SQLStore, _ metrics: CapsuleMetrics, clock: WallClock
    ) -> CapsuleRecorder? {
        guard configuration.count > 0 else { return nil }
        return CapsuleRecorder(
            store: store, version: LatchkeyVersion.text, maximumPerMinute: configuration.maximumPerMinute,
            clock: clock, observer: { metrics.count($0) })
    }

    /// - Throws: ``LatchkeyStartError`` if `files.directory` is no folder.
    private static func api(
        _ configuration: Configuration, _ useCases: UseCases, _ pages: AdministratorPages,
        _ demonstration: Demonstration?,
        baseURL: BaseURL, uptime: Uptime, tracer: (any Tracer)?, logger: Logger
    ) throws -> LatchkeyAPI {
        LatchkeyAPI(
            useCases: useCases, apiKeys: configuration.acceptedKeys,
            allowedOrigins: configuration.allowedOrigins.map(\.text), clientOrigins: configuration.clientOrigins,
            clientKeys: configuration.publishedKeys, decryptionKeys: configuration.publishedDecryptionKeys,
            certificates: configuration.publishedCertificates,
            files: try site(configuration, demonstration, logger), hasConsole: configuration.hasConsole,
            baseURL: baseURL, compatibility: configuration.compatibility, limits: configuration.effectiveLimits,
            administratorPages: pages, uptime: uptime, version: LatchkeyVersion.text, demonstration: demonstration,
            tracer: tracer, logger: logger)
    }

    /// The client, whose requests are logged, traced and, in a demonstration, told.
    private static func observed(
        _ client: any HTTPClient, _ stories: SignInStories?, _ tracer: (any Tracer)?, _ logger: Logger
    ) -> TracedClient {
        let logged = LoggedClient(client: client, logger: logger)
        guard let stories else { return TracedClient(client: logged, tracer: tracer) }
        return TracedClient(client: RecordingClient(client: logged, stories: stories), tracer: tracer)
    }

    /// - Throws: ``LatchkeyStartError`` without a provider, or without a key to store a provider's tokens.
    private static func checkProviders(
        _ configuration: Configuration, _ providers: Providers
    ) throws {
        guard !providers.all.isEmpty else {
            throw LatchkeyStartError(.configuration, "neither zenkey.discovery_url nor providers is set")
        }
        guard !configuration.vaultKeys.isEmpty || !configuration.providers.contains(where: \.rules.storesTokens) else {
            throw LatchkeyStartError(
                .configuration, "a provider has store_tokens, and encryption_keys is not set")
        }
    }

    /// The files of the site.
    /// - Throws: ``LatchkeyStartError`` if `files.directory` is no folder.
    private static func site(
        _ configuration: Configuration, _ demonstration: Demonstration?, _ logger: Logger
    ) throws -> StaticFiles {
        if let folder = configuration.filesDirectory {
            var isFolder = false
            guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder else {
                throw LatchkeyStartError(.configuration, "files.directory: there is no folder \(folder)")
            }
        }
        return StaticFiles(
            siteIn: configuration.filesDirectory, hasConsole: configuration.hasConsole, demonstration: demonstration,
            logger: logger)
    }

    /// Listens and serves.
    /// - Returns: The bound addresses, in the order of the configuration: HTTP, HTTPS, redirects, metrics.
    /// - Throws: ``LatchkeyStartError`` if an address cannot be bound, or the process has no room for the event loops.
    public func start() throws -> [SocketAddress] {
        do throws(ServerError) {
            return try listen()
        } catch {
            let remedy =
                switch error.code {
                case .unknownHost: "Set http.host to an address of this machine"
                case .addressInUse: "Stop the other server, or choose another port with http.port or tls.port"
                case .noEventLoop: "Lower http.loops, or raise the process's limit on open files"
                case .cannotListen: "Choose another address with http.host and http.port, or tls.host and tls.port"
                }
            throw LatchkeyStartError(.network, "\(error). \(remedy)")
        }
    }

    /// As ``start()``, with the server's own error.
    package func listen() throws(ServerError) -> [SocketAddress] {
        let addresses = try server.start()
        if let local = addresses.map({ "\($0)" }).first(where: { $0.hasPrefix("127.") || $0.hasPrefix("[::1]") }) {
            baseURL.settle("http://" + local)
        }
        telemetry?.start(metrics.registry)
        sealer.noteStart(configuration)
        background.withLock { tasks in
            tasks = [
                Task { [housekeeping] in await housekeeping.run() }, Task { [refresh] in await refresh.run() },
                Task { [certificates] in await certificates?.run() },
                Task { [metrics, server] in await metrics.loops.run(server) },
                Task { [board] in await board.run() },
            ]
        }
        sealing.withLock { $0 = Task { [sealer] in await sealer.run() } }
        return addresses
    }

    /// The URLs of the addresses that ``start()`` returned.
    public func urls(of addresses: [SocketAddress]) -> [String] { listening(at: addresses).map(\.url) }

    /// The addresses that ``start()`` returned, with what each serves.
    public func listening(at addresses: [SocketAddress]) -> [ListeningAddress] {
        let points = listeners.flatMap { point in point.hosts.map { _ in point } }
        return zip(points, addresses).map { point, address in
            switch point.kind {
            case .tls: ListeningAddress(url: "https://\(address)", purpose: .api)
            case .redirect: ListeningAddress(url: "http://\(address)", purpose: .redirects)
            case .plain: ListeningAddress(url: "http://\(address)", purpose: point.handler == nil ? .api : .metrics)
            }
        }
    }

    /// Stops the service: `/readyz` answers 503, new connections are refused, requests in progress finish within the
    /// limit, and the database is closed.
    /// - Returns: The number of connections closed before their request was finished.
    @discardableResult
    public func shutdown(within limit: Duration) async -> Int {
        api.beginDraining()
        let closed = await server.shutdown(within: limit)
        for task in background.withLock({ $0 }) { task.cancel() }
        let sealing = sealing.withLock { $0 }
        sealing?.cancel()
        await telemetry?.shutdown()
        await client.shutdown()
        await housekeeping.writeLastSeen()
        if let sealing {
            // Its transactions would keep the last seal waiting.
            await sealing.value
            sealer.noteStop()
        }
        await sealer.finish()
        await settleCapsules()
        do {
            try await store.close()
        } catch {
            logger.error("the database did not close cleanly", metadata: ["error": "\(error.code)"])
        }
        return closed
    }

    /// Waits until the capsules of all failures so far are stored, or could not be.
    package func settleCapsules() async { await capsules?.settle() }

    /// Maintains the signing keys now instead of at the next minute. For tests.
    package func keepSigningKeys() async { await housekeeping.keepSigningKeys() }

    /// The metrics of `GET /metrics`, by name.
    package var metricDescriptions: [MetricDescription] { metrics.registry.descriptions }

    /// The current values of the metrics that have any. Read off the event loops.
    package func metricReadings() async -> [MetricReading] {
        await metrics.read { [registry = metrics.registry] in registry.readings() }
    }

    /// Responds to requests without a socket.
    package var handler: Handler { api.handler() }

    /// Waits until all log lines are written. For the end of a process.
    public func flushLog() { LogSink.standardError.flush() }

    /// The current tracer; nil for a no-op.
    private static var currentTracer: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }

    static func openStore(_ configuration: Configuration, observer: StoreObserver? = nil) throws -> SQLStore {
        do throws(StorageError) {
            return switch configuration.databaseLocation {
            case .sqlite(let sqlite): try SQLStore(configuration: sqlite, observer: observer)
            case .postgres(let postgres): try SQLStore(configuration: postgres, observer: observer)
            }
        } catch {
            throw LatchkeyStartError(.database, "the database at \(configuration.database.url): \(error.reason)")
        }
    }

    /// Logs why the database was opened, but not as it should be.
    private static func log(_ problem: StorageError, _ logger: Logger) {
        if problem.code == .full {
            logger.error(
                "the database refuses writes until its disk works: sign-ins fail, and sessions can be checked",
                metadata: ["reason": "\(problem.reason)"])
        } else {
            logger.warning(
                "a loss of power might cost the last sign-ins until other programs stop reading the database",
                metadata: ["reason": "\(problem.reason)"])
        }
    }

    static func makeClient(_ configuration: OutboundHTTPConfiguration) throws -> OutboundHTTPClient {
        do throws(OutboundHTTPStartError) {
            return try OutboundHTTPClient(configuration)
        } catch {
            throw LatchkeyStartError(.outbound, "\(error)")
        }
    }
}

extension Logger {
    /// A logger to standard error in the configured format.
    init(_ configuration: Configuration.Log, threshold: LogThreshold, clock: WallClock) {
        self.init(label: "latchkey") { label in
            var handler = StructuredLogHandler(
                label: label, threshold: threshold, format: configuration.format, sink: .standardError, clock: clock)
            handler.metadataProvider = .ofTrace
            return handler
        }
    }
}
