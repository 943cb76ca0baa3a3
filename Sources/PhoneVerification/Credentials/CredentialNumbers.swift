package import OpenIDConnect
import Primitives
package import SignIn
import Storage
import StorageModel

/// Numbers of phones, by a digital credential that the app gets from the phone's wallet, or by a link that a browser
/// opens over the mobile network: those of an aggregator of mobile networks, or of one mobile operator.
package struct CredentialNumbers: ProofGroup {
    /// The aggregator's provider, or the operator.
    let reference: ProviderReference
    package let server: AuthorizationServer
    let rules: AggregatorRules
    let signIns: NumberSignIns
    let redeemer: any CredentialRedeemer

    package var kind: ProviderKind { .aggregator }
    var proofNeeded: SignInError { .credentialNeeded }

    /// The verifier of each sign-in says who the user is.
    package func verifyUser(
        of run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> VerifiedSignIn { throw .credentialNeeded }

    /// The strategy for a phone.
    /// - Parameter named: What the app wants.
    /// - Throws: `operator_unknown` if the aggregator is not configured for the network; `invalid_request` for a
    ///   strategy that is not configured.
    func strategy(
        for network: MCCMNC?, _ named: CredentialStrategy? = nil
    ) throws(SignInError) -> CredentialStrategy {
        let isLinked = network.map(rules.linkNetworks.contains)
        switch named ?? (isLinked ?? rules.credentialOrigins.isEmpty ? .link : .ts43) {
        case .desktop:
            guard rules.verifiesDesktops else { throw .noDesktops }
            return .desktop
        case .link:
            guard isLinked ?? !rules.linkNetworks.isEmpty else { throw .operatorUnknown }
            return .link
        case .ts43:
            let isServed = rules.networks.isEmpty || network.map(rules.networks.contains) ?? true
            guard isServed, isLinked != true, !rules.credentialOrigins.isEmpty else { throw .operatorUnknown }
            return .ts43
        }
    }

    /// Begins a session.
    /// - Parameters:
    ///   - id: Its name for the app, which alone can end it.
    ///   - purpose: What it is for; it is good for nothing else.
    func begin(
        _ wanted: CredentialStart, of number: MSISDN?, under id: Secret, for purpose: EncryptedOneTimeStore.Purpose,
        _ correlationID: CorrelationID, in environment: Environment
    ) async throws(SignInError) -> (CredentialStrategy, PreparedCredential) {
        guard let client = server.client(wanted.clientID) else { throw .unknownClient }
        try wanted.choice.caller.check(client)
        // A phone that knows no network names where the browser of a link ends.
        let isLink = wanted.choice.network == nil && wanted.redirectURI != nil && !rules.linkNetworks.isEmpty
        let strategy = try strategy(for: wanted.choice.network, wanted.strategy ?? (isLink ? .link : nil))
        if strategy == .link {
            guard let uri = wanted.redirectURI else { throw .redirectURIOfLinkMissing }
            guard client.mayReceiveBrowsers(at: uri) else {
                throw .redirectURINotRegistered(uri, among: client.rules.redirectURIs)
            }
        }
        // A page has no key, and any program can pretend to be one: no session is paid for that a page cannot end.
        if let page = wanted.page {
            let isOfPage =
                strategy == .link
                ? wanted.redirectURI?.hasPrefix(page + "/") == true : rules.credentialOrigins.contains(page)
            guard isOfPage else { throw .credentialsNotForPage }
        }
        // An attacker could let another person scan the code, and would then sign in as that person.
        guard strategy != .desktop || purpose.text == EncryptedOneTimeStore.Purpose.verification.text else {
            throw .noDesktopSignIns
        }
        guard strategy != .desktop || number != nil else { throw .numberOfDesktopMissing }
        if !wanted.uses.isEmpty {
            let wait = try await mappingStoreErrors(
                await signIns.store.count(wanted.uses, at: environment.clock.now()))
            if let wait { throw .tooManyLookups(wait) }
        }
        let inquiry = CredentialInquiry(
            strategy: strategy, number: number, network: wanted.choice.network, redirectURI: wanted.redirectURI,
            nonce: Secret(environment.random.token()), code: Secret(environment.random.token()))
        let start = environment.clock.now()
        let prepared = try await redeemer.prepare(inquiry, correlationID)
        let session = CredentialSession(
            provider: reference.text, clientID: client.id, strategy: strategy, number: number, nonce: inquiry.nonce,
            code: inquiry.code, session: prepared.session, start: start)
        try await signIns.oneTimeStore.keep(session.content, for: purpose, under: id, seconds: prepared.seconds)
        return (strategy, prepared)
    }

    /// Ends a session, once at all servers: checks what can be checked here, and then has the credential redeemed.
    /// - Returns: Nil as long as no phone has scanned the QR code.
    func finding(
        of session: CredentialSession, under id: Secret, for purpose: EncryptedOneTimeStore.Purpose,
        _ proof: CredentialProof, _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> CredentialFinding? {
        run.begin(.validate)
        switch (session.strategy, proof) {
        case (.ts43, .credential(let text)): try check(text, session, run)
        case (.link, .browserCode), (.desktop, .scanned): break
        default: throw .proofOfOtherStrategy(session.strategy)
        }
        if session.strategy != .desktop { try await spend(id, for: purpose) }
        run.begin(.number)
        let found: CredentialFinding?
        do throws(SignInError) {
            found = try await redeemer.process(session, proof, run, at: provider)
        } catch {
            // The session is spent, whatever came to the other server.
            throw session.strategy == .desktop ? error : error.afterCode
        }
        if found != nil, session.strategy == .desktop { try await spend(id, for: purpose) }
        return found
    }

    /// Refuses a number whose SIM was changed lately, if the rules say so.
    func check(_ found: CredentialFinding, _ run: SignInRun) throws(SignInError) {
        // A mobile operator was asked by its own rules.
        guard let sim = found.sim, found.identity == nil else { return }
        run.note(sim.rawValue, as: "sim_swap")
        guard rules.simSwap.ifSwapped == .refuse else { return }
        switch sim {
        case .swapped: throw .simSwappedLately
        case .unknown where rules.simSwap.ifUnknown == .refuse: throw .simUnknown
        case .unchanged, .unknown: break
        }
    }

    private func spend(_ id: Secret, for purpose: EncryptedOneTimeStore.Purpose) async throws(SignInError) {
        guard try await signIns.oneTimeStore.take(purpose, under: id) != nil else { throw .credentialSessionEnded }
    }

    private func check(_ text: Secret, _ session: CredentialSession, _ run: SignInRun) throws(SignInError) {
        let expected = PresentedCredential.Expectation(
            nonce: session.nonce.exposed, origins: rules.credentialOrigins, since: session.start,
            now: run.environment.clock.now(), skew: run.relyingParty.configuration.idTokenRules.clockSkewSeconds)
        do throws(PresentedCredential.Check) {
            try PresentedCredential(text.exposed).check(expected)
        } catch { throw .credentialInvalid(error) }
    }
}

/// Says who the user of a sign-in with a credential is.
struct CredentialVerifier: RequestVerifier {
    let numbers: CredentialNumbers
    let session: CredentialSession
    let id: Secret
    let proof: CredentialProof

    func check(_ request: SignInRequest) {}

    func verifyUser(of run: SignInRun, at provider: ProviderMetadata) async throws(SignInError) -> VerifiedSignIn {
        let found = try await numbers.finding(of: session, under: id, for: .credentialSignIn, proof, run, at: provider)
        guard let found else { throw .aggregatorError() }
        try numbers.check(found, run)
        guard let number = found.number, found.isVerified != false else { throw .aggregatorError() }
        if let identity = found.identity {
            return VerifiedSignIn(identity, UserInfo(verified: number), provenPhoneNumber: number.text)
        }
        return try await numbers.signIns.user(
            of: try await numbers.signIns.admit(number, from: provider.issuer, in: run), in: run)
    }
}

/// What an app begins a session with.
struct CredentialStart: Sendable {
    /// Nil for that of the network.
    var strategy: CredentialStrategy?
    /// Nil for the only one.
    var clientID: ClientID?
    /// Where the browser of a link ends.
    var redirectURI: String?
    /// The origin of this server, if one of its pages asks without an API key.
    var page: String?
    /// What the session uses of the allowances of callers without an API key.
    var uses: [AllowanceUse] = []
    var choice: OperatorChoice
}

/// A session that waits for the phone. It is kept encrypted under its id.
struct CredentialSession: Sendable {
    /// Where it was begun: the text of a reference.
    let provider: String
    let clientID: ClientID
    let strategy: CredentialStrategy
    /// The number to verify.
    let number: MSISDN?
    let nonce: Secret
    let code: Secret
    /// What names it to the aggregator, as JSON.
    let session: String
    let start: Timestamp

    var content: [UInt8] {
        var json = JSONObjectWriter(capacity: 512)
        json.add("provider", provider)
        json.add("client", clientID.text)
        json.add("strategy", strategy.rawValue)
        json.add("number", ifPresent: number?.text)
        json.add("nonce", nonce.exposed)
        json.add("code", code.exposed)
        json.add("session", session)
        json.add("start", start.secondsSinceEpoch)
        return json.finish()
    }
}

extension CredentialSession {
    /// Reads ``content``.
    init?(_ content: [UInt8]) {
        guard let object = (try? JSONValue(parsing: content))?.object, let provider = object["provider"]?.string,
            let client = object["client"]?.string.flatMap(ClientID.init),
            let strategy = object["strategy"]?.string.flatMap(CredentialStrategy.init),
            let nonce = object["nonce"]?.string, let code = object["code"]?.string,
            let session = object["session"]?.string, let start = object["start"]?.integer
        else { return nil }
        self.init(
            provider: provider, clientID: client, strategy: strategy,
            number: object["number"]?.string.flatMap(MSISDN.init), nonce: Secret(nonce), code: Secret(code),
            session: session, start: Timestamp(secondsSinceEpoch: start))
    }
}

extension EncryptedOneTimeStore.Purpose {
    /// A sign-in and a verification that wait for a credential.
    static let credentialSignIn = Self("credential sign-in")
    static let verification = Self("credential verification")
}

extension CredentialSession {
    /// The session of an id; nil if it is unknown, used or expired.
    init?(
        _ id: Secret, for purpose: EncryptedOneTimeStore.Purpose, of useCases: UseCases
    ) async throws(SignInError) {
        guard let session = try await useCases.oneTimeStore.read(purpose, under: id).flatMap({ Self($0) }) else {
            return nil
        }
        self = session
    }

    /// Where the session was begun; nil if it is not configured any more.
    func numbers(in providers: Providers) -> CredentialNumbers? {
        let reference = ProviderReference(text: provider)
        return providers[reference.provider]?.credentials(of: reference.operatorName)
    }
}
