import LatchkeyConfiguration
package import OpenIDConnect
import Primitives
package import SignIn
import StorageModel

/// An aggregator of mobile networks, which tells the number of a phone by a digital credential that the app gets from
/// the phone's wallet, or by a link that a browser opens over the mobile network.
package struct AggregatorNumbers: ProofGroup {
    /// The provider's name in paths.
    let provider: String
    package let server: AuthorizationServer
    let rules: AggregatorRules
    let signIns: NumberSignIns
    let aggregator: any CredentialAggregator

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
        // An attacker could let another person scan the code, and would then sign in as that person.
        guard strategy != .desktop || purpose.text == EncryptedOneTimeStore.Purpose.verification.text else {
            throw .noDesktopSignIns
        }
        guard strategy != .desktop || number != nil else { throw .numberOfDesktopMissing }
        let inquiry = CredentialInquiry(
            strategy: strategy, number: number, network: wanted.choice.network, redirectURI: wanted.redirectURI,
            nonce: Secret(environment.random.token()), code: Secret(environment.random.token()))
        let start = environment.clock.now()
        let prepared = try await aggregator.prepare(inquiry, correlationID)
        let session = CredentialSession(
            provider: provider, clientID: client.id, strategy: strategy, number: number, nonce: inquiry.nonce,
            code: inquiry.code, session: prepared.session, start: start)
        try await signIns.oneTimeStore.keep(session.content, for: purpose, under: id, seconds: prepared.seconds)
        return (strategy, prepared)
    }

    /// The session of an id; nil if it is unknown, used, expired, or of another provider.
    func session(
        _ id: Secret, for purpose: EncryptedOneTimeStore.Purpose
    ) async throws(SignInError) -> CredentialSession? {
        let content = try await signIns.oneTimeStore.read(purpose, under: id)
        return content.flatMap(CredentialSession.init).flatMap { $0.provider == provider ? $0 : nil }
    }

    /// Ends a session, once at all servers: checks what can be checked here, and then asks the aggregator.
    /// - Returns: Nil as long as no phone has scanned the QR code.
    func finding(
        of session: CredentialSession, under id: Secret, for purpose: EncryptedOneTimeStore.Purpose,
        _ proof: CredentialProof, _ run: SignInRun
    ) async throws(SignInError) -> AggregatorFinding? {
        run.begin(.validate)
        switch (session.strategy, proof) {
        case (.ts43, .credential(let text)): try check(text, session, run)
        case (.link, .browserCode), (.desktop, .scanned): break
        default: throw .proofOfOtherStrategy(session.strategy)
        }
        if session.strategy != .desktop { try await spend(id, for: purpose) }
        run.begin(.number)
        guard let found = try await aggregator.process(session, proof, run.correlationID) else { return nil }
        if session.strategy == .desktop { try await spend(id, for: purpose) }
        run.note(found.sim.rawValue, as: "sim_swap")
        guard rules.simSwap.ifSwapped == .refuse else { return found }
        switch found.sim {
        case .swapped: throw .simSwappedLately
        case .unknown where rules.simSwap.ifUnknown == .refuse: throw .simUnknown
        case .unchanged, .unknown: return found
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
    let numbers: AggregatorNumbers
    let session: CredentialSession
    let id: Secret
    let proof: CredentialProof

    func check(_ request: SignInRequest) {}

    func verifyUser(of run: SignInRun, at provider: ProviderMetadata) async throws(SignInError) -> VerifiedSignIn {
        let found = try await numbers.finding(of: session, under: id, for: .credentialSignIn, proof, run)
        guard let found, let number = found.number, found.isVerified != false else { throw .aggregatorError() }
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
    var choice: OperatorChoice
}

/// A session that waits for the phone. It is kept encrypted under its id.
struct CredentialSession: Sendable {
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

extension Provider {
    /// Nil for a provider of another kind.
    var aggregator: AggregatorNumbers? { group as? AggregatorNumbers }
}
