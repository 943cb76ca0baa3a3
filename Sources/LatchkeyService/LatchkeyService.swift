import FoundationEssentials
public import HTTPServer
package import LatchkeyAPI
public import LatchkeyConfiguration
public import Logging
package import Observability
package import OpenIDConnect
package import OutboundHTTP
public import Primitives
package import SignIn
import Storage
package import StorageModel
import Synchronization
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
    private let features: [any Feature]
    package let api: LatchkeyAPI
    package let useCases: UseCases
    /// Under their providers' names.
    package let relyingParties: [String: RelyingParty]
    private let baseURL: BaseURL
    package let server: Server
    let certificates: CertificateRenewal?
    private let housekeeping: Housekeeping
    let serverEvents: ServerEvents
    private let refresh: BackgroundRefresh
    package let metrics: ServiceMetrics
    /// The background tasks from the start to the shutdown.
    private let background = Mutex<[Task<Void, Never>]>([])
    /// The storing of ``serverEvents`` from the start to the shutdown.
    private let recording = Mutex<Task<Void, Never>?>(nil)

    /// Opens the database and assembles the service. It does not listen yet.
    ///
    /// The current tracer (`InstrumentationSystem.bootstrap`, or `withTracer` around this call) gets a span for each
    /// request, each step of a sign-in, and each outbound request. If there is one, `telemetry.otlp_endpoint` gets
    /// metrics only.
    /// - Parameter features: Those whose settings the configuration has; those of the server are
    ///   `FeatureList.standard` of `LatchkeyFeatures`. A configuration that needs another one is refused.
    /// - Throws: ``LatchkeyStartError``.
    public init(
        configuration: Configuration, features: FeatureList, clock: WallClock = .system,
        uptime: Uptime = .system
    ) throws {
        if let demand = features.settings.unmetDemands(of: configuration).first {
            throw LatchkeyStartError(.configuration, "\(demand)")
        }
        let metrics = ServiceMetrics(maximumDescriptors: OpenFileLimit.raise())
        logThreshold = LogThreshold(configuration.log.level.loggerLevel)
        let logger = Logger(configuration.log, threshold: logThreshold, clock: clock)
        self.configuration = configuration
        self.clock = clock
        reloaded = Mutex(configuration)
        self.metrics = metrics
        self.logger = logger
        store = try features.openStore(configuration.database) { database throws(StorageError) in
            try database.open(observer: metrics.store.observer)
        }
        if configuration.database.file != nil, SQLiteLibrary.current.hasWALResetFault {
            logger.notice(
                """
                this SQLite has a fault that can damage a database to which several processes write at once; run one \
                server on the file, and update SQLite to 3.51.3 or later
                """,
                metadata: ["sqlite": "\(SQLiteLibrary.current.version)"])
        }
        if let problem = store.problemAtStart { LatchkeyService.log(problem, logger) }
        let context = FeatureContext(
            configuration: configuration, store: store, metrics: metrics.registry, clock: clock, uptime: uptime,
            logger: logger)
        let features = try features.features.compactMap { try $0.make(in: context) }
        self.features = features
        let tracer = LatchkeyService.currentTracer ?? features.lazy.compactMap(\.tracer).first

        // The outbound client and the use cases.
        client = try LatchkeyService.makeClient(configuration.outboundHTTP)
        let observed = ObservedClient(
            client: features.reduce(client as any HTTPClient) { $1.client($0) }, tracer: tracer, logger: logger)
        let providers = configuration.signInProviders(
            http: observed, store: store, clock: clock, metrics: metrics.carriers, features: features, logger: logger)
        relyingParties = providers.relyingParties
        try LatchkeyService.checkProviders(configuration, providers)
        useCases = UseCases(
            providers: providers, configuration: configuration.signIn, store: store, logger: logger, clock: clock,
            uptime: uptime, failures: features.compactMap(\.failureObserver),
            observers: [metrics.signIns.count] + features.compactMap(\.signInObserver)
                + [tracer.map { SignInSpans(tracer: $0).record }].compactMap(\.self),
            formerIdentitySources: features.compactMap(\.formerIdentities),
            registrar: features.lazy.compactMap(\.registration).first,
            accessTokenForm: { keys in features.lazy.compactMap { $0.accessTokenForm(signedWith: keys) }.first })
        metrics.registry.add(metrics.store.metrics(of: store))
        metrics.add(client)
        metrics.registry.add(metrics.carriers.metrics(of: relyingParties, clock: clock))
        metrics.registry.add(ServerMetrics.metrics(of: useCases.sessions))

        // The API and the server.
        baseURL = BaseURL(configuration.publicURL?.text)
        api = LatchkeyAPI(
            useCases: useCases, apiKeys: configuration.acceptedKeys,
            allowedOrigins: configuration.allowedOrigins.map(\.text), clientOrigins: configuration.clientOrigins,
            clientKeys: configuration.publishedKeys, decryptionKeys: configuration.publishedDecryptionKeys,
            certificates: configuration.publishedCertificates,
            files: try LatchkeyService.site(configuration, features, logger), baseURL: baseURL,
            compatibility: configuration.compatibility, limits: configuration.effectiveLimits,
            metricsEndpoint: configuration.metricsEndpoint { await metrics.page() }, uptime: uptime,
            version: LatchkeyVersion.text, features: features, tracer: tracer, logger: logger)
        if let route = api.routeAddedTwice {
            throw LatchkeyStartError(
                .configuration, "a feature adds the route \(route), which the core or another feature has. Rename it")
        }
        certificates = try CertificateRenewal(configuration.tls, clock: clock, logger: logger)
        let serverConfiguration = configuration.server(certificates?.tls, metricsHandler: api.metricsHandler)
        let observe = metrics.add(api)
        server = Server(
            configuration: serverConfiguration, logger: logger, errorRenderer: api.errorRenderer,
            loadShedder: api.loadShedder(observedBy: observe), handler: api.immediateHandler(observedBy: observe))
        metrics.add(server, certificates)

        // The background tasks.
        refresh = BackgroundRefresh(relyingParties: Array(relyingParties.values), logger: logger)
        housekeeping = Housekeeping(
            store: store, auditRetention: configuration.auditRetention, signingKeys: useCases.signingKeys,
            sessions: useCases.sessions, features: features, clock: clock, logger: logger)
        serverEvents = ServerEvents(store: store, clock: clock, logger: logger)
        store.watch { [sessions = useCases.sessions] change in sessions.storeDidChange(change) }

        for feature in features { feature.attach(to: self) }
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
    /// - Throws: ``LatchkeyStartError`` if `files.directory` is not a folder.
    private static func site(
        _ configuration: Configuration, _ features: [any Feature], _ logger: Logger
    ) throws -> StaticFiles {
        if let folder = configuration.filesDirectory {
            var isFolder = false
            guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder else {
                throw LatchkeyStartError(.configuration, "files.directory: there is no folder \(folder)")
            }
        }
        return StaticFiles(
            siteIn: configuration.filesDirectory, hasConsole: configuration.hasConsole,
            connectedTo: features.flatMap(\.connectedOrigins), logger: logger)
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
        serverEvents.noteStart(configuration)
        recording.withLock { $0 = Task { [serverEvents] in await serverEvents.run() } }
        for feature in features { feature.start() }
        background.withLock { tasks in
            tasks = [
                Task { [housekeeping] in await housekeeping.run() }, Task { [refresh] in await refresh.run() },
                Task { [certificates] in await certificates?.run() },
                Task { [metrics, server] in await metrics.loops.run(server) },
            ]
        }
        return addresses
    }

    /// The URLs of the addresses that ``start()`` returned.
    public func urls(of addresses: [SocketAddress]) -> [String] { listening(at: addresses).map(\.url) }

    /// The addresses that ``start()`` returned, with what each serves. None after a shutdown.
    public func listening(at addresses: [SocketAddress]) -> [ListeningAddress] {
        addresses.compactMap { address in
            guard let point = server.point(at: address) else { return nil }
            return switch point.kind {
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
        let recording = recording.withLock { $0 }
        recording?.cancel()
        await client.shutdown()
        await housekeeping.writeLastSeen()
        if let recording {
            await recording.value
            serverEvents.noteStop()
        }
        await serverEvents.storeNoted()
        for feature in features { await feature.shutdown() }
        do {
            try await store.close()
        } catch {
            logger.error("the database did not close cleanly", metadata: ["error": "\(error.code)"])
        }
        return closed
    }

    package var recordsFailures: Bool { features.contains { $0.failureObserver != nil } }

    /// What a feature recorded of a failed sign-in, if one did.
    package func explanation(
        of failure: SignInReport, at time: Timestamp
    ) async throws(StorageError) -> FailureExplanation? {
        for feature in features {
            if let explanation = try await feature.explanation(of: failure, at: time) { return explanation }
        }
        return nil
    }

    package var statusTables: [StatusTable] { features.compactMap(\.statusTable) }

    package var waitingForStore: (reads: Int, writes: Int) {
        (store.reads.waitingCount, store.writes.waitingCount)
    }

    /// A feature of the service, for tests.
    package func feature<Kind: Feature>(_: Kind.Type) -> Kind? { features.lazy.compactMap { $0 as? Kind }.first }

    /// Maintains the signing keys now instead of at the next minute. For tests.
    package func keepSigningKeys() async { await housekeeping.keepSigningKeys() }

    /// The metrics of `GET /metrics`, by name.
    package var metricDescriptions: [MetricDescription] { metrics.registry.descriptions }

    /// The current values of the metrics that have any. Read off the event loops.
    package func metricReadings() async -> [MetricReading] {
        await metrics.read { [registry = metrics.registry] in registry.readings() }
    }

    package var handler: Handler { api.handler() }

    /// Waits until all log lines are written. For the end of a process.
    public func flushLog() { LogSink.standardError.flush() }

    private static var currentTracer: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }

    /// Logs why the database was opened, but not as it should be.
    private static func log(_ problem: StorageError, _ logger: Logger) {
        let isFull = problem.code == .full
        logger.log(
            level: isFull ? .error : .warning,
            isFull
                ? "the database refuses writes until its disk works: sign-ins fail, and sessions can be checked"
                : "a loss of power might cost the last sign-ins until other programs stop reading the database",
            metadata: ["reason": "\(problem.reason)"])
    }

    package static func makeClient(_ configuration: OutboundHTTPConfiguration) throws -> OutboundHTTPClient {
        do throws(OutboundHTTPStartError) {
            return try OutboundHTTPClient(configuration)
        } catch {
            throw LatchkeyStartError(.outbound, "\(error)")
        }
    }
}

extension FeatureList {
    /// - Throws: ``LatchkeyStartError``.
    func openStore(
        _ settings: Configuration.Database, _ open: (any DatabaseLocation) throws(StorageError) -> SQLStore
    ) throws -> SQLStore {
        do throws(StorageError) {
            return try open(try database(settings))
        } catch {
            throw LatchkeyStartError(.database, "the database at \(settings.url): \(error.reason)")
        }
    }
}

extension Logger {
    init(_ configuration: Configuration.Log, threshold: LogThreshold, clock: WallClock) {
        self.init(label: "latchkey") { label in
            var handler = StructuredLogHandler(
                label: label, threshold: threshold, format: configuration.format, sink: .standardError, clock: clock)
            handler.metadataProvider = .ofTrace
            return handler
        }
    }
}
