package import Logging
public import OpenIDConnect
public import Primitives
package import StorageModel

/// All use cases, over one store.
package struct UseCases: Sendable {
    package var providers: Providers { environment.providers }
    package let environment: Environment
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
    ///   - registrar: Registers unknown users. Without one, a sign-in creates its user.
    ///   - formerIdentitySources: Prove that accounts move. Without one, none does.
    ///   - accessTokenForm: Without one, all session tokens are opaque.
    package init(
        providers: Providers, configuration: SignInConfiguration, store: any Store, logger: Logger,
        clock: WallClock = .system, random: RandomSource = .system, uptime: Uptime = .system,
        readinessPatience: Duration = Readiness.patience,
        failures: [FailureObserver] = [], observers: [SignInObserver] = [],
        formerIdentitySources: [FormerIdentitySource] = [], registrar: (any Registrar)? = nil,
        accessTokenForm: (SigningKeys) -> (any AccessTokenForm)? = { _ in nil }
    ) {
        environment = Environment(
            providers: providers, clock: clock, uptime: uptime, random: random, logger: logger,
            refusals: LogSamplers(clock: clock), observers: observers, failures: failures)
        let idempotency = Idempotency(store: store, clock: clock, window: configuration.lifetimes.retryWindow)
        let keys = SigningKeys(store: store, configuration: configuration.signingKeys, clock: clock, logger: logger)
        signingKeys = keys
        sessions = Sessions(
            store: store, cache: SessionCache(), lastSeen: LastSeenTracker(), idempotency: idempotency,
            lifetimes: SessionLifetimes(configuration.lifetimes, providers), registration: configuration.registration,
            clientsWithIDTokens: providers.clientsWithIDTokens, areAudited: configuration.auditsSignIns,
            keyRules: KeyRules(providers), accessTokenForm: accessTokenForm(keys), clock: clock, random: random)
        claimsVault = ClaimsVault(keys: configuration.vaultKeys)
        vault = TokenVault(keys: configuration.vaultKeys)
        oneTimeStore = EncryptedOneTimeStore(store: store, clock: clock)
        refresh = Refresh(environment: environment, sessions: sessions, store: store)
        completion = SignInCompletion(
            environment: environment, sessions: sessions,
            registrar: registrar, store: store, vault: vault, claimsVault: claimsVault, oneTimeStore: oneTimeStore,
            formerIdentitySources: formerIdentitySources)
        signIn = SignInWithCode(
            environment: environment, store: store, idempotency: idempotency, completion: completion)
        nonceIssuer = NonceIssuer(
            environment: environment, lifetime: configuration.lifetimes.issuedNonce, store: store)
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
    package let observers: [SignInObserver]
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

/// The administrator's settings of sign-ins, as plain values. Times are in seconds.
public struct SignInConfiguration: Sendable {
    /// What registrations and edits of profiles must have.
    public var registration = RegistrationRules()
    /// How long sessions, tokens and handles are valid.
    public var lifetimes = Lifetimes()
    /// The keys that sign receipts and seals of the audit log.
    public var signingKeys = SigningKeys()
    /// The keys that encrypt providers' tokens and users' claims in the store: the first encrypts, all decrypt.
    public var vaultKeys: [EncryptionKey] = []
    /// Whether the audit log records every sign-in, registration and sign-out.
    public var auditsSignIns = false

    public init() {}

    /// A client that is registered with a provider.
    @dynamicMemberLookup
    public struct Client: Sendable, Hashable {
        /// Whether a sign-in must carry the code verifier (RFC 7636).
        public enum PKCE: String, Sendable, CaseIterable { case required, optional }

        /// What a token request has as `redirect_uri` for a code that came without one, as a provider's SDK gets it.
        public enum SDKRedirectURI: String, Sendable, CaseIterable {
            /// No such parameter.
            case none
            case empty
            case postmessage

            package var text: String? {
                switch self {
                case .none: nil
                case .empty: ""
                case .postmessage: rawValue
                }
            }
        }

        /// Who chooses the nonce of a sign-in.
        public enum Nonce: String, Sendable, CaseIterable {
            /// The client, or the sign-in has none.
            case client
            /// ``NonceIssuer``: only an issued nonce is accepted, and only once.
            case issued
        }

        /// The client id at the provider.
        public var id: ClientID
        /// How token requests authenticate the client (RFC 6749 section 2.3).
        public var authentication: ClientAuthentication
        /// The rest of what is configured of it. A client has all members of its rules.
        public var rules: ClientRules

        public init(id: ClientID, authentication: ClientAuthentication, rules: ClientRules = ClientRules()) {
            self.id = id
            self.authentication = authentication
            self.rules = rules
        }

        /// A member of ``rules``, where time does not matter: sign-ins read the rules themselves.
        public subscript<Value>(dynamicMember member: WritableKeyPath<ClientRules, Value>) -> Value {
            get { rules[keyPath: member] }
            set { rules[keyPath: member] = newValue }
        }

        /// What the client's ID tokens and logout tokens may be signed with.
        package var signingAlgorithms: Set<SigningAlgorithm> {
            rules.idTokenSigningAlgorithm.map { [$0] } ?? rules.usualSigningAlgorithms
        }

        /// What token requests of the client need.
        package var credentials: ClientCredentials {
            ClientCredentials(
                clientID: id, authentication: authentication, idTokenDecryption: rules.idTokenDecryption,
                userInfoDecryption: rules.userInfoDecryption, clientTLS: rules.clientTLS)
        }

        /// The key of encrypted responses whose public half is published; nil if none is encrypted.
        package var decryptionKey: DecryptionKey? { (rules.idTokenDecryption ?? rules.userInfoDecryption)?.key }

        /// The keys whose public halves are published. A signed secret's key was issued by the provider, which needs no
        /// public half of it.
        package var publishedKeys: [ClientKey] {
            if case .signedClientSecret = authentication { return [] }
            return [rules.signingKey, rules.otherKey].compactMap(\.self)
        }

        /// The certificate to publish, because the provider knows it by the client's key set (RFC 8705 section 2.2).
        package var publishedCertificate: ClientTLS? {
            guard case .selfSignedTLSClientAuth(let clientTLS) = authentication else { return nil }
            return clientTLS
        }

        /// Whether the app may have named a redirect URI to the provider: a registered one, byte for byte; any, if none
        /// is registered; none, or what stands for none, if the provider's SDK gets codes. This server sends no browser
        /// there.
        package func mayHaveNamed(_ redirectURI: String?) -> Bool {
            if let sdk = rules.sdkRedirectURI, sdk.text == redirectURI { return true }
            guard let redirectURI else { return false }
            return rules.redirectURIs.isEmpty || rules.redirectURIs.contains(where: redirectURI.hasSameBytes(as:))
        }

        /// A client that authenticates with HTTP Basic (`client_secret_basic`).
        public init(id: ClientID, secret: Secret) {
            self.init(id: id, authentication: .clientSecretBasic(secret))
        }
    }

    /// What the configuration says of a client, besides its id and how it authenticates.
    public struct ClientRules: Sendable, Hashable {
        /// The redirect URIs that a sign-in may name, compared byte by byte. If empty, any is accepted.
        public var redirectURIs: [String] = []
        /// For codes that a provider's SDK gets in the app; nil where each has a redirect URI.
        public var sdkRedirectURI: Client.SDKRedirectURI?
        /// The kinds of frontend that a redirect URI is for, by redirect URI. One that is not here is for those that
        /// its scheme stands for (`AppRedirectURI.usualClientTypes`).
        package var clientTypes: [String: Set<ClientType>] = [:]
        /// Whether a redirect sign-in that ends with a `session_id` must begin with a code challenge.
        public var requiresCodeChallenge = false
        /// The scopes of authorization requests. With more than `openid`, each sign-in fetches the attributes.
        public var scopes = ["openid"]
        /// The parameters of authorization requests, besides those of its provider.
        public var parameters = AuthorizationParameters()
        /// The audiences that ID tokens may have beside the client, besides those of its provider.
        public var trustedAudiences: [ClientID] = []
        /// The audiences that ID tokens must have beside the client, all of them.
        public var requiredAudiences: [ClientID] = []
        /// The other origins whose web frontends may call the API without an API key, for this client only.
        public var allowedOrigins: [Origin] = []
        /// Whether a sign-in needs the code verifier.
        public var pkce = Client.PKCE.required
        public var nonce = Client.Nonce.client
        /// Sign-ins with ID tokens that apps bring.
        public var native = NativeSignInRules()
        /// The session tokens of the client's sessions, as its app gets them.
        public var accessToken = AccessTokenRules()
        /// Whether the session's tokens are bound to a key of the app (DPoP, RFC 9449).
        public var boundTokens = BoundTokens.off
        /// The lifetimes of this client's sessions, where they differ from ``SignInConfiguration/lifetimes``.
        public var sessions = SessionTimes()
        /// What the provider signs this client's ID tokens and logout tokens with, if the client's registration says so
        /// (`id_token_signed_response_alg`). By default ``usualSigningAlgorithms``, as the metadata lists them.
        public var idTokenSigningAlgorithm: SigningAlgorithm?
        /// What is accepted without ``idTokenSigningAlgorithm``.
        public var usualSigningAlgorithms = SigningAlgorithm.standard
        /// How the provider encrypts this client's ID tokens, if the client's registration says so
        /// (`id_token_encrypted_response_alg`). By default they are not encrypted.
        public var idTokenDecryption: ResponseDecryption?
        /// The certificate that the client authenticates with, or that its tokens can be bound to (RFC 8705); nil if
        /// it has none.
        public var clientTLS: ClientTLS?
        /// What the provider signs userinfo responses with, if the client's registration says so
        /// (`userinfo_signed_response_alg`). By default a response need not be signed.
        public var userInfoSigningAlgorithm: SigningAlgorithm?
        /// How the provider encrypts userinfo responses for this client, if the client's registration says so
        /// (`userinfo_encrypted_response_alg`). By default they are not encrypted.
        public var userInfoDecryption: ResponseDecryption?
        /// What the provider signs authorization responses with, where the response mode demands that they are signed
        /// (`authorization_signed_response_alg`).
        public var responseSigningAlgorithm = SigningAlgorithm.rs256
        /// The private key, which signs what ``Client/authentication`` does not: requests for authorization and for
        /// backchannel authentication.
        public var signingKey: ClientKey?
        /// A second key that signs nothing. Its public half is published before it replaces ``signingKey``, and after
        /// it was replaced.
        public var otherKey: ClientKey?

        public init() {}

        /// Adds the parameters of the provider. Of two values of one name, the client's counts.
        mutating func add(_ common: AuthorizationParameters) {
            parameters.fixed.merge(common.fixed) { own, _ in own }
            parameters.fromApps += common.fromApps
        }
    }

    /// Sign-ins with ID tokens that apps get from the device or from a provider's SDK.
    public struct NativeSignInRules: Sendable, Hashable {
        /// Who chooses the nonce that such a token must have: ``NonceIssuer`` or the app. With `none` it need not have
        /// one.
        public enum Nonce: String, Sendable, CaseIterable { case issued, client, none }
        /// What is done with the authorization code that an app gets beside the token.
        public enum CodeUse: String, Sendable, CaseIterable { case ignore, redeem }

        /// The audiences that such a token may have. If empty, there are no such sign-ins.
        public var audiences: [ClientID] = []
        public var nonce = Nonce.issued
        public var code = CodeUse.ignore

        public init() {}

        /// - Throws: `invalid_request` for a request without the nonce that its token must have.
        package func check(_ request: SignInRequest) throws(SignInError) {
            guard nonce == .none || request.nonce != nil else { throw .nativeNonceMissing }
        }
    }

    /// With `optional`, an app that proves a key gets tokens that are bound to it; with `required`, no other app gets
    /// any.
    public enum BoundTokens: String, Sendable, CaseIterable { case off, optional, required }

    /// The form of session tokens.
    public struct AccessTokenRules: Sendable, Hashable {
        /// `jwt` is one that services verify without a request (RFC 9068).
        public enum Form: String, Sendable, CaseIterable { case opaque, jwt }

        /// For apps; pages of this server have opaque ones.
        public var form = Form.opaque
        /// The services that a JWT is for.
        public var audience: [ClientID] = []

        public init() {}

        /// How long a token is valid without ``SessionTimes/access``: a service that verifies it alone learns of the
        /// session's end by its expiry only.
        package func usualLifetime(_ general: Int64) -> Int64 { form == .jwt ? min(general, 600) : general }
    }

    /// A client's own session lifetimes; nil where ``Lifetimes`` applies.
    public struct SessionTimes: Sendable, Hashable {
        /// See ``Lifetimes/access``.
        public var access: Int64?
        /// See ``Lifetimes/refresh``.
        public var refresh: Int64?
        /// See ``Lifetimes/idle``.
        public var idle: Int64?
        /// See ``Lifetimes/absolute``.
        public var absolute: Int64?
    }

    /// How long sessions, tokens and handles are valid, in seconds.
    public struct Lifetimes: Sendable, Hashable {
        /// A session token.
        public var access: Int64 = 3600
        /// A refresh token.
        public var refresh: Int64 = 30 * 86_400
        /// A session that is not refreshed.
        public var idle: Int64 = 14 * 86_400
        /// A session, however often it is refreshed.
        public var absolute: Int64 = 90 * 86_400
        /// After a refresh: how long the old session token is valid; 0 also forbids repeating the refresh.
        public var refreshGrace: Int64 = 30
        /// An issued nonce.
        public var issuedNonce: Int64 = 600
        /// How long the identical sign-in may be repeated.
        public var retryWindow: Int64 = 60

        public init() {}
    }

    /// The keys that sign receipts and seals of the audit log.
    public struct SigningKeys: Sendable {
        /// How long a key signs, in seconds; at least two days.
        public var lifetime: Int64 = 30 * 86_400
        /// The keys that encrypt the signing keys in the store: the first encrypts, all decrypt.
        public var encryptionKeys: [EncryptionKey] = []

        public init() {}
    }
}
