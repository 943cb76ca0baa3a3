package import Logging
import OpenIDConnect
package import Primitives
package import StorageModel

/// All use cases, over one store.
///
/// ```swift
/// let useCases = UseCases(
///     providers: providers, configuration: configuration, store: store, logger: logger)
/// let outcome = try await useCases.signIn(request)
/// ```
package struct UseCases: Sendable {
    package let providers: Providers
    package let signIn: SignInWithCode
    package let registration: Registration
    package let nonceIssuer: NonceIssuer
    package let backchannelAuthentication: BackchannelAuthentication
    package let sessions: Sessions
    package let refresh: Refresh
    package let authorizeTransaction: AuthorizeTransaction
    package let redeemReceipt: RedeemReceipt
    package let signingKeys: SigningKeys
    package let readiness: Readiness
    package let redirectSignIn: RedirectSignIn
    package let linkIdentity: LinkIdentity
    package let backchannelLogout: BackchannelLogout
    package let providerSignOut: ProviderSignOut
    package let oneTimeSessionCode: OneTimeSessionCode
    package let apiKeys: StoredAPIKeys
    package let resources: ProviderResources
    package let claimsVault: ClaimsVault
    package let verifyPhoneNumber: VerifyPhoneNumber
    /// For the log lines of refusals that anyone can cause.
    package let refusals: LogSamplers

    /// - Parameters:
    ///   - readinessPatience: How long the store may take for its readiness.
    ///   - pause: Waits between two polls of a mobile operator.
    ///   - capsules: Keeps capsules of failed sign-ins; nil makes none.
    ///   - observer: Called at the end of every sign-in.
    ///   - verificationObserver: Called for every outcome of a verification of a phone number.
    package init(
        providers: Providers, configuration: SignInConfiguration, store: any Store, logger: Logger,
        clock: WallClock = .system, random: RandomSource = .system, uptime: Uptime = .system,
        readinessPatience: Duration = Readiness.patience,
        pause: PollPauses = PollPauses(), capsules: CapsuleRecorder? = nil,
        observer: @escaping SignInObserver = { _ in },
        verificationObserver: @escaping PhoneVerificationObserver = { _ in }
    ) {
        self.providers = providers
        let refusals = LogSamplers(clock: clock)
        self.refusals = refusals
        let idempotency = Idempotency(store: store, clock: clock, window: configuration.lifetimes.retryWindow)
        let sessions = Sessions(
            store: store, cache: SessionCache(), lastSeen: LastSeenTracker(), idempotency: idempotency,
            lifetimes: SessionLifetimes(configuration.lifetimes, providers), registration: configuration.registration,
            clientsWithIDTokens: providers.clientsWithIDTokens, areAudited: configuration.auditsSignIns,
            clock: clock, random: random)
        let claimsVault = ClaimsVault(keys: configuration.vaultKeys)
        self.claimsVault = claimsVault
        let registrationOffers = RegistrationOffers(
            rules: configuration.registration, lifetime: configuration.lifetimes.pendingRegistration,
            claimsVault: claimsVault, store: store, clock: clock, random: random)
        let vault = TokenVault(keys: configuration.vaultKeys)
        let oneTimeStore = EncryptedOneTimeStore(store: store, clock: clock)
        self.sessions = sessions
        refresh = Refresh(
            sessions: sessions, store: store, clock: clock, random: random, logger: logger, refusals: refusals)
        let operators = OperatorDirectory(
            providers: providers, store: store, answers: TelcoFinderAnswers(), clock: clock, logger: logger,
            capsules: capsules)
        signIn = SignInWithCode(
            providers: providers, configuration: configuration, store: store, sessions: sessions,
            idempotency: idempotency, registrationOffers: registrationOffers, vault: vault, claimsVault: claimsVault,
            oneTimeStore: oneTimeStore,
            clock: clock, random: random, logger: logger, refusals: refusals, observer: observer, operators: operators,
            pause: pause, capsules: capsules)
        verifyPhoneNumber = VerifyPhoneNumber(
            providers: providers, operators: operators, store: store,
            oneTimeStore: oneTimeStore, cache: sessions.cache, pause: pause, clock: clock, random: random,
            logger: logger, observer: verificationObserver, capsules: capsules)
        backchannelAuthentication = BackchannelAuthentication(
            providers: providers, configuration: configuration, store: store, sessions: sessions,
            registrationOffers: registrationOffers, vault: vault, claimsVault: claimsVault, oneTimeStore: oneTimeStore,
            pace: PollPace(uptime: uptime),
            clock: clock, random: random, logger: logger, refusals: refusals, observer: observer, capsules: capsules)
        registration = Registration(
            rules: configuration.registration, store: store, sessions: sessions, vault: vault,
            claimsVault: claimsVault, oneTimeStore: oneTimeStore, clock: clock, random: random, logger: logger,
            refusals: refusals)
        nonceIssuer = NonceIssuer(
            providers: providers, lifetime: configuration.lifetimes.issuedNonce, store: store, clock: clock,
            random: random)
        signingKeys = SigningKeys(store: store, configuration: configuration.transactions, clock: clock, logger: logger)
        authorizeTransaction = AuthorizeTransaction(
            providers: providers, configuration: configuration, store: store, keys: signingKeys,
            onceOnly: OnceOnly(), clock: clock, random: random, logger: logger, observer: observer, capsules: capsules)
        redeemReceipt = RedeemReceipt(keys: signingKeys, store: store, clock: clock, logger: logger)
        readiness = Readiness(store: store, clock: clock, patience: readinessPatience)
        apiKeys = StoredAPIKeys(store: store, clock: clock)
        resources = ProviderResources(
            providers: providers, store: store, vault: vault,
            refreshes: TokenRefreshes(random: random), clock: clock, uptime: uptime, random: random, logger: logger)
        oneTimeSessionCode = OneTimeSessionCode(oneTimeStore: oneTimeStore, random: random)
        backchannelLogout = BackchannelLogout(
            providers: providers, sessions: sessions, store: store,
            clock: clock, logger: logger, refusals: refusals, capsules: capsules)
        providerSignOut = ProviderSignOut(
            providers: providers, store: store, oneTimeStore: oneTimeStore,
            clock: clock, random: random, logger: logger, refusals: refusals)
        linkIdentity = LinkIdentity(signIn: signIn, store: store, clock: clock, random: random, logger: logger)
        redirectSignIn = RedirectSignIn(
            providers: providers, signIn: signIn,
            linkIdentity: linkIdentity, verifyPhoneNumber: verifyPhoneNumber, oneTimeStore: oneTimeStore,
            sessionCode: oneTimeSessionCode,
            pendingStarts: configuration.redirectQuota(uptime), answeredCodes: configuration.redirectQuota(uptime),
            clock: clock, random: random)
    }
}

extension SignInConfiguration {
    /// A quota of records that a redirect sign-in makes.
    fileprivate func redirectQuota(_ uptime: Uptime) -> OneTimeRecordQuota {
        OneTimeRecordQuota(
            maximum: maximumPendingStarts, lifetime: .seconds(RedirectSignIn.lifetime), uptime: uptime)
    }
}
