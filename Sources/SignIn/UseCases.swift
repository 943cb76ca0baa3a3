public import Logging
public import OpenIDConnect
public import Primitives
public import StorageModel

/// All that a user and an app can do, over one store.
///
/// ```swift
/// let useCases = UseCases(configuration: configuration, relyingParties: ["zenkey": party], store: store, logger: logger)
/// let outcome = try await useCases.signIn(request)
/// ```
public struct UseCases: Sendable {
    public let signIn: SignInWithCode
    public let registration: Registration
    public let nonceIssuer: NonceIssuer
    public let backchannelAuthentication: BackchannelAuthentication
    public let sessions: Sessions
    public let refresh: Refresh
    public let authorizeTransaction: AuthorizeTransaction
    public let redeemReceipt: RedeemReceipt
    public let signingKeys: SigningKeys
    public let readiness: Readiness
    public let redirectSignIn: RedirectSignIn
    public let linkIdentity: LinkIdentity
    public let backchannelLogout: BackchannelLogout
    public let providerSignOut: ProviderSignOut
    public let oneTimeSessionCode: OneTimeSessionCode
    public let apiKeys: StoredAPIKeys
    public let resources: ProviderResources
    public let accountChanges: AccountChanges

    /// - Parameters:
    ///   - relyingParties: One for each of the configuration's providers, under the same name. A provider without one is
    ///     unknown to sign-ins.
    ///   - observer: Is told of every sign-in as it ends.
    public init(
        configuration: SignInConfiguration, relyingParties: [String: RelyingParty], store: any Store, logger: Logger,
        clock: WallClock = .system, random: RandomSource = .system, uptime: Uptime = .system,
        observer: @escaping SignInObserver = { _ in }
    ) {
        let idempotency = Idempotency(store: store, clock: clock, window: configuration.lifetimes.retryWindow)
        let sessions = Sessions(
            store: store, cache: SessionCache(), lastSeen: LastSeenTracker(), idempotency: idempotency,
            lifetimes: SessionLifetimes(configuration), registration: configuration.registration, clock: clock,
            random: random)
        let registrationOffers = RegistrationOffers(
            rules: configuration.registration, lifetime: configuration.lifetimes.pendingRegistration, store: store,
            clock: clock, random: random)
        let vault = TokenVault(keys: configuration.vaultKeys)
        let oneTimeStore = EncryptedOneTimeStore(store: store, clock: clock)
        self.sessions = sessions
        refresh = Refresh(sessions: sessions, store: store, clock: clock, random: random, logger: logger)
        signIn = SignInWithCode(
            configuration: configuration, relyingParties: relyingParties, store: store, sessions: sessions,
            idempotency: idempotency, registrationOffers: registrationOffers, vault: vault, oneTimeStore: oneTimeStore,
            clock: clock, random: random,
            logger: logger, observer: observer)
        backchannelAuthentication = BackchannelAuthentication(
            configuration: configuration, relyingParties: relyingParties, store: store, sessions: sessions,
            registrationOffers: registrationOffers,
            pace: PollPace(uptime: uptime), clock: clock, random: random, logger: logger, observer: observer)
        registration = Registration(
            rules: configuration.registration, store: store, sessions: sessions, vault: vault, clock: clock,
            random: random, logger: logger)
        nonceIssuer = NonceIssuer(configuration: configuration, store: store, clock: clock, random: random)
        signingKeys = SigningKeys(
            store: store, configuration: configuration.transactions, clock: clock, logger: logger)
        authorizeTransaction = AuthorizeTransaction(
            configuration: configuration, relyingParties: relyingParties, store: store, keys: signingKeys,
            onceOnly: OnceOnly(), clock: clock, random: random, logger: logger, observer: observer)
        redeemReceipt = RedeemReceipt(keys: signingKeys, store: store, clock: clock, logger: logger)
        readiness = Readiness(store: store, clock: clock)
        apiKeys = StoredAPIKeys(store: store, clock: clock)
        accountChanges = AccountChanges(store: store, clock: clock)
        resources = ProviderResources(
            configuration: configuration, relyingParties: relyingParties, store: store, vault: vault,
            refreshes: TokenRefreshes(), clock: clock, random: random, logger: logger)
        oneTimeSessionCode = OneTimeSessionCode(oneTimeStore: oneTimeStore, random: random)
        backchannelLogout = BackchannelLogout(
            configuration: configuration, relyingParties: relyingParties, sessions: sessions, store: store,
            clock: clock, logger: logger)
        providerSignOut = ProviderSignOut(
            configuration: configuration, relyingParties: relyingParties, oneTimeStore: oneTimeStore, clock: clock,
            random: random,
            logger: logger)
        linkIdentity = LinkIdentity(signIn: signIn, store: store, clock: clock, random: random, logger: logger)
        redirectSignIn = RedirectSignIn(
            configuration: configuration, relyingParties: relyingParties, signIn: signIn,
            linkIdentity: linkIdentity, oneTimeStore: oneTimeStore,
            sessionCode: oneTimeSessionCode, startRate: StartRate(), clock: clock, random: random)
    }
}
