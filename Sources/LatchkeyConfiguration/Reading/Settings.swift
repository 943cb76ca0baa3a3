internal import LatchkeyAPI
internal import Primitives
package import SignIn

/// What keys of the core ask of a feature, which a build may lack.
public struct FeatureDemand: Sendable {
    /// The feature, by the trait that adds it to a build; nil if the core does not know which one it is.
    package let trait: String?
    /// The kinds of provider that it brings.
    let kinds: Set<ProviderKind>
    /// The key of a configuration that asks for the feature; nil if there is none.
    let key: @Sendable (Configuration) -> String?

    package init(_ trait: String, _ key: @escaping @Sendable (Configuration) -> String?) {
        (self.trait, self.kinds, self.key) = (trait, [], key)
    }

    /// The keys are those of providers of some kinds.
    package init(_ trait: String?, ofKinds kinds: Set<ProviderKind>) {
        (self.trait, self.kinds) = (trait, kinds)
        key = { $0.providers.first { kinds.contains($0.kind) }.map { "providers.\($0.id)" } }
    }

    var reason: String {
        "needs \(trait.map { "the feature \($0)" } ?? "a feature"), which this build of the program does not have"
    }
    var remedy: String {
        "run a build with \(trait.map { "the trait \($0)" } ?? "the feature for such providers"), or change the key"
    }
}

/// The keys of the configuration in the order in which they are read and shown: those of the core, then those of
/// features, which follow the core's keys of the same group if there are any. Here, in the extensions, and for
/// providers and clients in their drafts, is the only place of the name, type, default, secrecy and meaning of every
/// key of the core, besides the quotas of ``RateLimit``.
public struct Settings: Sendable {
    /// Those of the core alone.
    public static let core = Settings([])

    let groups: [any FeatureSettings.Type]
    /// The providers that a feature knows; nil where no feature does.
    let presets: (@Sendable () -> [ProviderPreset])?
    let kinds: [ProviderKinds]
    private let unmet: [FeatureDemand]
    let ofFeatures: [Setting<Configuration>]
    let all: [Setting<Configuration>]

    /// The settings of the core and of some features.
    /// - Parameter unmet: What keys of the core ask of other features. A configuration that has one is refused.
    public init(_ features: [any FeatureSettings.Type], unmet: [FeatureDemand] = []) {
        self.init(features, presets: nil, kinds: [], unmet: unmet)
    }

    /// - Parameters:
    ///   - presets: The providers that a feature knows; nil where no feature does.
    ///   - kinds: The kinds of provider that features bring.
    package init(
        _ features: [any FeatureSettings.Type], presets: (@Sendable () -> [ProviderPreset])?, kinds: [ProviderKinds],
        unmet: [FeatureDemand]
    ) {
        groups = features
        self.presets = presets
        self.kinds = kinds
        self.unmet = unmet
        ofFeatures = features.flatMap { $0.inConfiguration }
        all = ofFeatures.reduce(into: Self.ofCore) { all, setting in
            let group = setting.name.prefix { $0 != "." }
            let last = all.lastIndex { $0.name.prefix { $0 != "." } == group }
            all.insert(setting, at: last.map { $0 + 1 } ?? all.endIndex)
        }
    }

    /// What a configuration asks for with keys of the core, and no feature of the build does.
    package func unmetDemands(of configuration: Configuration) -> [ConfigurationProblem] {
        unmet.compactMap { demand in
            demand.key(configuration).map { key in
                ConfigurationProblem(key: key, reason: demand.reason, remedy: demand.remedy)
            }
        }
    }

    /// The keys of a provider's section.
    var ofProviders: [Setting<ProviderDraft>] { ProviderDraft.settings + kinds.flatMap(\.settings) }

    /// What makes the providers of a section of a kind that a feature brings; nil if none does.
    func reader(of kind: ProviderKind) -> ProviderReader? { kinds.lazy.compactMap { $0.readers[kind] }.first }

    /// What a kind of provider that no feature of the build has asks for.
    func demand(of kind: ProviderKind) -> FeatureDemand {
        unmet.first { $0.kinds.contains(kind) } ?? FeatureDemand(nil, ofKinds: [kind])
    }

    private static let ofCore: [Setting<Configuration>] =
        general + quotas + http + tls + zenkey + accounts + signingKeys + outbound + metrics + operation

    /// `allow_loopback_http` and `plain_http_hosts` are first: they decide which URLs are valid.
    private static let general: [Setting<Configuration>] = [
        Setting(
            "allow_loopback_http", .flag(), \.endpointPolicy.allowsLoopbackHTTP,
            "Allows plain HTTP to providers on loopback addresses; for development and tests."),
        Setting(
            "plain_http_hosts", .list(of: .hostName, "a list of host names"), \.endpointPolicy.httpHosts,
            "Hosts of providers that plain HTTP is allowed to, such as a container's name. A provider may use those "
                + "that its own section names. It is sent to private addresses only, which "
                + "outbound.allow_private_networks must allow."),
        Setting(
            "public_url", .optional(.publicURL), \.publicURL,
            "The base URL of this server as browsers and apps know it."),
        Setting(
            "database.url", .databaseURL, \.database.url, isSecret: true,
            "The database: an SQLite file (three slashes before a relative path, four with an absolute one), or a "
                + "PostgreSQL database."),
        Setting(
            "database.pooler_url", .optional(.databaseURL), \.database.poolerURL, isSecret: true,
            "The PostgreSQL database of database.url by a pooler in transaction mode, such as PgBouncer, which then "
                + "gets the statements of requests. If there is no other way to the server, both keys have this URL."),
        Setting(
            "database.synchronous", .choice, \.database.synchronous,
            "full: an answered sign-in survives a loss of power; normal: it survives a crash of the process. For "
                + "SQLite only."),
        Setting(
            "database.pool_size", .integer(2...256), \.database.poolSize,
            "The most connections of this process to PostgreSQL. Half of them write, the others read."),
        Setting(
            "database.statement_timeout", .duration(1...300), \.database.statementTimeout,
            "The time limit of one PostgreSQL statement; a request whose statement takes longer is answered 503."),
        Setting(
            "database.max_wait", .duration(1...300), \.database.maximumWait,
            "How long a request may wait until a connection to the database is free; then it is answered 503."),
        Setting(
            "encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"), \.encryptionKeys,
            isSecret: true,
            "The keys that encrypt in the database: providers' tokens, users' sensitive claims, and the signing keys, "
                + "which sign receipts and the seals of the audit log. The first encrypts, all decrypt."),
        Setting(
            "api_keys", .list(of: .apiKey, "a list of API keys"), \.apiKeys, isSecret: true,
            "The keys that API callers send in X-API-KEY: in plain text, or as sha256: and the key's hash. In the "
                + "file, a key may also have a name, clients and origins."),
        Setting(
            "allowed_origins", .list(of: .origin, "a list of origins"), \.allowedOrigins,
            "The origins of web frontends that may call the API from a browser."),
        Setting(
            "console", .flag("on", "off"), \.hasConsole,
            "Whether the front page is the developer console; otherwise it is the sign-in page."),
        Setting(
            "files.directory", .optional(.folder), \.filesDirectory,
            "A folder whose files are served beside the program's own pages; a file with the path of a page replaces "
                + "it."),
        Setting(
            "rate_limits.enabled", formerly: "rate_limits", .flag("on", "off"), \.rateLimits,
            "Whether the limits of this group apply; the limits on connections and bodies always apply."
        ).reloaded(.value),
    ]

    private static let quotas: [Setting<Configuration>] = RateLimit.all.map { limit in
        Setting(
            "rate_limits." + limit.key,
            // It is newer than the others' names.
            formerly: limit == .promptsPerCaller ? nil : "rate_limit_rules." + limit.key,
            .quota, \.requestLimits.quotas[limit], limit.meaning
        ).reloaded(.value)
    }
}
