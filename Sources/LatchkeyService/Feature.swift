package import ArgumentParser
public import HTTPServer
public import LatchkeyAPI
public import LatchkeyConfiguration
public import Logging
public import Observability
package import OpenIDConnect
public import Primitives
package import SignIn
public import Storage
public import StorageModel
package import Tracing

/// What every feature can have, also one of another package (`Examples/Feature`): settings, routes, tables, metrics,
/// and work of its own.
///
/// A feature implements what it uses: all but the initializer has a default.
public protocol BasicFeature: APIRoutes {
    associatedtype Settings: FeatureSettings = NoSettings

    /// Nil if the settings leave it out: then it costs nothing.
    /// - Throws: ``LatchkeyStartError``.
    init?(_ settings: Settings, in context: FeatureContext) throws

    /// Its tables, if it is of another package. Those of this package are migrations in `Schema`.
    static var tables: [FeatureTable] { get }

    /// Its metrics. If the settings leave the feature out (nil), they are described and have no values.
    static func metrics(of feature: Self?) -> [any Metric]

    /// The server listens.
    func start()

    /// Removes expired rows of its tables, until `limit` or a few more are removed. Called once a minute, and again
    /// while it removes `limit`.
    /// - Returns: Their number.
    func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int

    /// The service has finished its requests and recorded its end in the audit log. The store is closed afterwards.
    func shutdown() async
}

extension BasicFeature {
    /// None.
    public static var operations: [APIOperation] { [] }
    /// None.
    public static var schemas: KeyValuePairs<String, APISchema> { [:] }
    /// None.
    public static var tables: [FeatureTable] { [] }
    /// None.
    public static func metrics(of feature: Self?) -> [any Metric] { [] }
    /// Adds none.
    public func addRoutes(to router: inout Router, of api: LatchkeyAPI) {}
    /// Does nothing.
    public func start() {}
    /// Removes nothing.
    public func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int { 0 }
    /// Does nothing.
    public func shutdown() async {}
}

/// A subject that a build of this package can leave out. It knows the core and no other feature; the core imports none.
///
/// It has also the seams of the core's own subjects, whose types only this package knows.
package protocol Feature: BasicFeature, APIFeature {
    static var commands: [any ParsableCommand.Type] { get }

    /// Its commands beneath one of the core's.
    /// - Parameter command: The core's, such as `audit`.
    static func subcommands(of command: String) -> [any ParsableCommand.Type]

    /// The providers that it knows, whose names are presets in the configuration.
    static var presets: (@Sendable () -> [ProviderPreset])? { get }

    /// The kinds of provider that it brings, as they are configured; nil for none.
    static var kinds: ProviderKinds? { get }

    /// The paths to which the provider may send browsers back, for a client that has frontends of these types.
    static func callbackPaths(
        at provider: String, of clientTypes: [ClientType], in configuration: Configuration
    ) -> [String]

    /// What an administrator registers for a client at its provider for the feature, with URLs that begin with `path`.
    static func clientMetadata(
        of client: Configuration.Client, at provider: Configuration.Provider, path: String
    ) -> ClientMetadataMembers

    /// What `latchkey doctor` finds, beside the warnings of the settings. Changes nothing.
    /// - Parameter http: With the limits of requests to providers.
    static func examine(_ configuration: Configuration, _ http: any HTTPClient) async -> [FeatureFinding]

    /// A database on an engine that the feature brings; nil if the URL is not one of this engine.
    static func database(_ settings: Configuration.Database) -> (any DatabaseLocation)?

    /// What `latchkey doctor` says of it at a provider; nil where the provider does not use it.
    static func note(at provider: Configuration.Provider, in configuration: Configuration) -> String?

    /// The group of servers of a provider, of a kind that the feature brings; nil for other kinds.
    /// - Parameters:
    ///   - configured: What the configuration says of each server, all of one provider.
    ///   - server: Makes one that is asked.
    func group(
        of configured: [Configuration.Provider], _ server: (Configuration.Provider) -> AuthorizationServer
    ) -> (any ServerGroup)?

    /// Whether the erasure of an account ends something of it at a provider. A command that erases one makes only such
    /// features.
    static var endsAccounts: Bool { get }

    /// The rules of providers by which sign-ins keep what it reads. One that no feature names is off.
    var keepingRules: [WritableKeyPath<ServerRules, Bool>] { get }

    /// Gets a span for each request, each step of a sign-in and each outbound request, unless the process has a tracer.
    var tracer: (any Tracer)? { get }

    /// Sees the requests to providers, or sends them in its own way.
    func client(_ client: any HTTPClient) -> any HTTPClient

    /// Called with the checks of each ID token. If all are nil, no check is recorded.
    var idTokenObserver: IDTokenObserver? { get }

    /// Called at the end of each sign-in. If it is nil, the feature adds no work to a sign-in.
    var signInObserver: SignInObserver? { get }

    /// Proves that accounts move to the identities of sign-ins.
    var formerIdentities: FormerIdentitySource? { get }

    /// Session tokens that are not opaque; nil if no client has any. One feature has it.
    func accessTokenForm(signedWith keys: SigningKeys) -> (any AccessTokenForm)?

    /// Called with each failed operation. If all are nil, no operation is recorded.
    var failureObserver: FailureObserver? { get }

    /// What it recorded of a failed sign-in; nil if it did not, or has it no more.
    func explanation(
        of failure: SignInReport, at time: Timestamp
    ) async throws(StorageError) -> FailureExplanation?

    /// What it shows on the administrators' status page; nil for nothing.
    var statusTable: StatusTable? { get }

    /// The service is assembled: called once, before ``start()``.
    /// - Parameter service: Held weakly, if at all: it holds its features.
    func attach(to service: LatchkeyService)

    /// Whether it removes the expired events of the audit log, by ``purge(at:limit:)``. If no feature does, they are
    /// removed by their age.
    var removesAuditEvents: Bool { get }
}

extension Feature {
    package static var webhooks: [(name: String, value: JSONValue?)] { [] }
    package static var startPaths: [String] { [] }
    package func signInRequest(
        _ fields: BodyFields, at provider: Provider, of api: LatchkeyAPI, terms: CallerTerms, caller: Caller?,
        device: String?
    ) async throws -> SignInRequest? { nil }
    package func startSignIn(
        _ request: Request, _ admission: Admission, at provider: Provider, of api: LatchkeyAPI
    ) async throws -> Response? { nil }
    package func describe(in json: inout JSONObjectWriter) {}
    package func redirects(of api: LatchkeyAPI) -> (any BrowserRedirects)? { nil }
    package func sessionErrand(of api: LatchkeyAPI) -> SessionErrand? { nil }
    package func erasing(_ user: UserID, with useCases: UseCases) async throws(SignInError) -> AccountEnding? { nil }
    package var registration: (any PageRegistration)? { nil }
    package var keyProofs: (any KeyProofs)? { nil }
    package var connectedOrigins: [String] { [] }
    package static var commands: [any ParsableCommand.Type] { [] }
    package static func subcommands(of command: String) -> [any ParsableCommand.Type] { [] }
    package static var presets: (@Sendable () -> [ProviderPreset])? { nil }
    package static var kinds: ProviderKinds? { nil }
    package static func callbackPaths(
        at provider: String, of clientTypes: [ClientType], in configuration: Configuration
    ) -> [String] { [] }
    package static func clientMetadata(
        of client: Configuration.Client, at provider: Configuration.Provider, path: String
    ) -> ClientMetadataMembers { [] }
    package static func examine(_ configuration: Configuration, _ http: any HTTPClient) async -> [FeatureFinding] { [] }
    package static func database(_ settings: Configuration.Database) -> (any DatabaseLocation)? { nil }
    package static func note(at provider: Configuration.Provider, in configuration: Configuration) -> String? { nil }
    package func group(
        of configured: [Configuration.Provider], _ server: (Configuration.Provider) -> AuthorizationServer
    ) -> (any ServerGroup)? { nil }
    package static var endsAccounts: Bool { false }
    package var keepingRules: [WritableKeyPath<ServerRules, Bool>] { [] }
    package var tracer: (any Tracer)? { nil }
    package func client(_ client: any HTTPClient) -> any HTTPClient { client }
    package var idTokenObserver: IDTokenObserver? { nil }
    package var signInObserver: SignInObserver? { nil }
    package var formerIdentities: FormerIdentitySource? { nil }
    package func accessTokenForm(signedWith keys: SigningKeys) -> (any AccessTokenForm)? { nil }
    package var failureObserver: FailureObserver? { nil }
    package func explanation(
        of failure: SignInReport, at time: Timestamp
    ) async throws(StorageError) -> FailureExplanation? { nil }
    package var statusTable: StatusTable? { nil }
    package func attach(to service: LatchkeyService) {}
    package var removesAuditEvents: Bool { false }

    /// With its metrics among those of the service.
    static func make(in context: FeatureContext) throws -> (any Feature)? {
        let feature = try Self(context.configuration[Settings.self], in: context)
        context.metrics.add(metrics(of: feature))
        return feature
    }

    fileprivate static var settings: any FeatureSettings.Type { Settings.self }
}

/// A feature of another package, in the list of those of this one.
private struct ForeignFeature<Foreign: BasicFeature>: Feature {
    private let foreign: Foreign

    init?(_ settings: Foreign.Settings, in context: FeatureContext) throws {
        guard let foreign = try Foreign(settings, in: context) else { return nil }
        self.foreign = foreign
    }

    static var operations: [APIOperation] { Foreign.operations }
    static var schemas: KeyValuePairs<String, APISchema> { Foreign.schemas }
    static var tables: [FeatureTable] { Foreign.tables }
    static func metrics(of feature: Self?) -> [any Metric] { Foreign.metrics(of: feature?.foreign) }
    func addRoutes(to router: inout Router, of api: LatchkeyAPI) { foreign.addRoutes(to: &router, of: api) }
    func start() { foreign.start() }
    func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await foreign.purge(at: now, limit: limit)
    }
    func shutdown() async { await foreign.shutdown() }
}

/// Members of a client's registration at its provider (OpenID Connect Dynamic Client Registration 1.0 section 2); nil
/// for those that it does not have.
package typealias ClientMetadataMembers = [(name: String, value: JSONValue?)]

/// What an examination finds of a subject; without a remedy all is well.
package typealias FeatureFinding = (subject: String, message: String, remedy: String?)

/// Gets the checks of an ID token, in their order.
package typealias IDTokenObserver = @Sendable (IDTokenExplanation, CorrelationID?) -> Void

/// A table for people, with a sentence about it.
package typealias StatusTable = (title: String, note: String, heads: [String], rows: [[String]])

/// What was recorded of a failure, for administrators: `json` is for programs, and `lines` are for people.
package typealias FailureExplanation = (json: JSONValue, lines: [String])

/// What a feature is made of, beside its settings.
public struct FeatureContext: Sendable {
    /// All settings.
    public let configuration: Configuration
    /// For the feature's own statements, with ``SQLStore/writes`` and ``SQLStore/reads``.
    public let store: SQLStore
    package let metrics: MetricsRegistry
    /// The time of day.
    public let clock: WallClock
    package let uptime: Uptime
    /// The log of the service.
    public let logger: Logger
}

/// The features of a program.
public struct FeatureList: Sendable {
    package let features: [any Feature.Type]
    private let unmet: [FeatureDemand]

    /// - Parameter unmet: What keys of the core ask of other features.
    package init(_ features: [any Feature.Type], unmet: [FeatureDemand] = []) {
        self.features = features
        self.unmet = unmet
    }

    /// With further features, which may be of other packages.
    public func adding(_ others: any BasicFeature.Type...) -> FeatureList {
        FeatureList(features + others.map { $0 as? any Feature.Type ?? Self.foreign($0) }, unmet: unmet)
    }

    /// With a feature that keys of the core ask for, by the trait that adds it to a build.
    package func adding(_ feature: any Feature.Type, meeting trait: String) -> FeatureList {
        FeatureList(features + [feature], unmet: unmet.filter { $0.trait != trait })
    }

    private static func foreign<Foreign: BasicFeature>(_: Foreign.Type) -> any Feature.Type {
        ForeignFeature<Foreign>.self
    }

    /// The paths to which a provider may send browsers back, for a client that has frontends of these types.
    package func callbackPaths(
        at provider: String, of clientTypes: [ClientType] = [], in configuration: Configuration
    ) -> [String] {
        features.flatMap { $0.callbackPaths(at: provider, of: clientTypes, in: configuration) }
    }

    /// The database of the settings: an SQLite file, or one on the engine of a feature.
    /// - Throws: `unavailable` if no feature has the engine.
    package func database(_ database: Configuration.Database) throws(StorageError) -> any DatabaseLocation {
        let found = database.file ?? features.lazy.compactMap { $0.database(database) }.first
        guard var location = found else {
            var configuration = Configuration()
            configuration.database = database
            let demand = settings.unmetDemands(of: configuration).first
            throw StorageError(.unavailable, reason: demand?.reason ?? "no feature of this build has its engine")
        }
        location.featureTables = tables
        return location
    }

    package var tables: [FeatureTable] { features.flatMap { $0.tables } }

    /// The keys of the core and of the features.
    public var settings: Settings {
        Settings(
            features.map { $0.settings }, presets: features.lazy.compactMap { $0.presets }.first,
            kinds: features.compactMap { $0.kinds }, unmet: unmet)
    }
}
