package import Logging
package import Primitives
package import StorageModel

/// All use cases, over one store.
package struct UseCases: Sendable {
    package var providers: Providers { environment.providers }
    /// For the use cases of features.
    package let environment: Environment
    /// For the sign-ins of features.
    package let completion: SignInCompletion
    package let signIn: SignInWithCode
    package let nonceIssuer: NonceIssuer
    package let sessions: Sessions
    package let refresh: Refresh
    package let signingKeys: SigningKeys
    package let readiness: Readiness
    package let oneTimeStore: EncryptedOneTimeStore
    package let apiKeys: StoredAPIKeys
    package let vault: TokenVault
    package let claimsVault: ClaimsVault

    /// - Parameters:
    ///   - readinessPatience: How long the store may take for its readiness.
    ///   - failures: Called with each failed operation. If there are none, no operation is recorded.
    ///   - observers: Called at the end of every sign-in.
    ///   - registrar: Registers unknown users. Without one, a sign-in creates its user.
    ///   - formerIdentitySources: Prove that accounts move. Without one, none does.
    package init(
        providers: Providers, configuration: SignInConfiguration, store: any Store, logger: Logger,
        clock: WallClock = .system, random: RandomSource = .system, uptime: Uptime = .system,
        readinessPatience: Duration = Readiness.patience,
        failures: [FailureObserver] = [], observers: [SignInObserver] = [],
        formerIdentitySources: [FormerIdentitySource] = [], registrar: (any Registrar)? = nil
    ) {
        environment = Environment(
            providers: providers, clock: clock, uptime: uptime, random: random, logger: logger,
            refusals: LogSamplers(clock: clock), observers: observers, failures: failures)
        let idempotency = Idempotency(store: store, clock: clock, window: configuration.lifetimes.retryWindow)
        sessions = Sessions(
            store: store, cache: SessionCache(), lastSeen: LastSeenTracker(), idempotency: idempotency,
            lifetimes: SessionLifetimes(configuration.lifetimes, providers), registration: configuration.registration,
            clientsWithIDTokens: providers.clientsWithIDTokens, areAudited: configuration.auditsSignIns,
            clock: clock, random: random)
        claimsVault = ClaimsVault(keys: configuration.vaultKeys)
        vault = TokenVault(keys: configuration.vaultKeys)
        oneTimeStore = EncryptedOneTimeStore(store: store, clock: clock)
        refresh = Refresh(environment: environment, sessions: sessions, store: store)
        completion = SignInCompletion(
            environment: environment, sessions: sessions,
            registrar: registrar, store: store, vault: vault, claimsVault: claimsVault, oneTimeStore: oneTimeStore,
            formerIdentitySources: formerIdentitySources)
        signIn = SignInWithCode(
            environment: environment, store: store, idempotency: idempotency, completion: completion,
            oneTimeStore: oneTimeStore)
        nonceIssuer = NonceIssuer(
            environment: environment, lifetime: configuration.lifetimes.issuedNonce, store: store)
        signingKeys = SigningKeys(store: store, configuration: configuration.signingKeys, clock: clock, logger: logger)
        readiness = Readiness(store: store, clock: clock, patience: readinessPatience)
        apiKeys = StoredAPIKeys(store: store, clock: clock)
    }
}

/// What the use cases share: the providers, the clock, the source of randomness, and the observers of outcomes.
///
/// A class, because each use case has it: a copy of one retains one object.
package final class Environment: Sendable {
    package let providers: Providers
    package let clock: WallClock
    package let uptime: Uptime
    package let random: RandomSource
    package let logger: Logger
    /// For callers without an API key: the log lines that anyone can cause.
    package let refusals: LogSamplers
    /// Called at the end of every sign-in.
    package let observers: [SignInObserver]
    /// Called with each failed operation.
    package let failures: [FailureObserver]

    init(
        providers: Providers, clock: WallClock, uptime: Uptime, random: RandomSource, logger: Logger,
        refusals: LogSamplers, observers: [SignInObserver], failures: [FailureObserver]
    ) {
        self.providers = providers
        self.clock = clock
        self.uptime = uptime
        self.random = random
        self.logger = logger
        self.refusals = refusals
        self.observers = observers
        self.failures = failures
    }
}

/// One thing that this server does for its callers.
protocol UseCase: Sendable {
    var environment: Environment { get }
}

extension UseCase {
    var providers: Providers { environment.providers }
    var clock: WallClock { environment.clock }
    var random: RandomSource { environment.random }
    var logger: Logger { environment.logger }
    var refusals: LogSamplers { environment.refusals }
    var failures: [FailureObserver] { environment.failures }
}
