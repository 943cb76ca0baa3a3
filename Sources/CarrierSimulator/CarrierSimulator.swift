import HTTPServer
public import Primitives
import Synchronization

/// Simulated mobile carriers: discovery by network code, an authorization page, and each carrier's token, key and
/// userinfo endpoints, in ZenKey's forms. Also OpenID providers that are not carriers, and a provider that has only
/// OAuth 2.
///
/// ```swift
/// let simulator = CarrierSimulator(clients: [.init(id: "shop", secret: Secret("…"), redirectURIs: ["app:/back"])])
/// let running = try simulator.start()
/// let code = try simulator.issueCode(
///     mccmnc: "310010", clientID: "shop", redirectURI: "app:/back", codeChallenge: challenge, nonce: "n-1")
/// ```
///
/// A carrier follows the specifications until it has a ``Fault``. The simulator is for development and tests: it signs
/// in anyone who reaches it, as any user.
public final class CarrierSimulator: Sendable {
    /// Waits. A test can pass a function that only records the duration.
    public typealias Pause = @Sendable (Duration) async throws -> Void

    let clients: [String: Client]
    let clock: WallClock
    let random: RandomSource
    let pause: Pause
    let notifications = NotificationSender()
    private let state: Mutex<SimulatorState>

    /// Makes a simulator that is not served yet.
    /// - Parameters:
    ///   - carriers: The last one of a network code counts.
    ///   - clients: The last one of an id counts.
    ///   - pause: How slow endpoints wait.
    public init(
        carriers: [Carrier] = Carrier.defaults + Carrier.otherProviders + Carrier.operators, clients: [Client],
        clock: WallClock = .system, random: RandomSource = .system,
        pause: @escaping Pause = { try await Task.sleep(for: $0) }
    ) {
        self.clients = Dictionary(clients.map { ($0.id, $0) }) { _, later in later }
        self.clock = clock
        self.random = random
        self.pause = pause
        state = Mutex(SimulatorState(carriers: Dictionary(carriers.map { ($0.mccmnc, $0) }) { _, later in later }))
    }

    func withState<Result, Failure: Error>(
        _ body: (inout sending SimulatorState) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try state.withLock(body)
    }
}

extension CarrierSimulator {
    /// The simulator's own URL, such as `http://127.0.0.1:8081`. Set it once the port is known; issuers and endpoints
    /// begin with it.
    public var baseURL: String? {
        get { withState { $0.baseURL } }
        set { withState { $0.baseURL = newValue.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } } }
    }

    /// Where a relying party requests a carrier's configuration, with `client_id` and `mccmnc`.
    public var discoveryURL: String? { baseURL.map { $0 + "/.well-known/openid_configuration" } }

    /// Where a relying party sends a browser to choose the carrier.
    public var discoveryUIURL: String? { baseURL.map { $0 + "/ui/discovery-ui" } }

    /// Where a relying party sends a browser with an authorization request for any carrier.
    public var optimizedDiscoveryURL: String? { baseURL.map { $0 + "/v1/auth" } }

    /// The present carriers, sorted by network code, without other providers.
    public var carriers: [Carrier] {
        withState { state in
            state.carriers.values.filter(\.isCarrier).sorted { $0.mccmnc < $1.mccmnc }
        }
    }

    /// The issuer of a carrier or provider; nil if the name is unknown.
    public func issuer(of name: String) -> String? { withState { $0.site(name)?.issuer } }

    /// Changes a carrier while it runs. An unknown network code changes nothing.
    public func update(_ mccmnc: String, _ change: (inout Carrier) -> Void) {
        withState { state in
            guard var carrier = state.carriers[mccmnc] else { return }
            change(&carrier)
            state.carriers[mccmnc] = carrier
        }
    }

    /// Adds a carrier while the simulator runs, or replaces the one of its network code.
    package func add(_ carrier: Carrier) { withState { $0.carriers[carrier.mccmnc] = carrier } }

    /// Replaces the faults of a carrier.
    public func setFaults(_ faults: Set<Fault>, for mccmnc: String) {
        update(mccmnc) { $0.faults = faults }
    }

    /// Replaces a carrier's keys: the key set holds only the new key, which signs new tokens.
    public func rotateKeys(_ mccmnc: String) {
        withState { state in
            guard state.carriers[mccmnc] != nil else { return }
            // The pool keeps every key as long as the process lives; after 32 rotations the first key returns.
            state.keyGenerations[mccmnc] = ((state.keyGenerations[mccmnc] ?? 0) + 1) % 32
        }
    }

    /// Makes every carrier's present key now, so that the first sign-ins do not wait for it.
    public func prepareKeys() async throws {
        let sites = withState { state in
            state.carriers.keys.sorted().compactMap { state.site($0) }.filter(\.carrier.isCarrier)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for site in sites {
                group.addTask { _ = try await CarrierKeys(site: site).signing() }
            }
            try await group.waitForAll()
        }
    }

    /// Makes the keys of a key ring, those of faults included.
    package func prepareKeys(ofRing keyRing: String, generations: Int) async throws {
        for purpose: KeyPool.Slot.Purpose in [
            .weak, .unpublished, .signing(.es256), .decoy(.rs256, 0), .decoy(.rs256, 1),
        ] { _ = try await KeyPool.shared.key(.init(mccmnc: keyRing, purpose: purpose)) }
        for generation in 0..<generations {
            _ = try await KeyPool.shared.key(.init(mccmnc: keyRing, purpose: .signing(.rs256), generation: generation))
        }
    }

    /// The requests received so far.
    public var log: RequestLog { withState { $0.log } }
}
