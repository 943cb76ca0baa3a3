import HTTPServer
public import Primitives
import Synchronization

/// Mobile carriers to sign in with where there are none: discovery by network code, an authorization page, and each
/// carrier's token, key and userinfo endpoints, in ZenKey's forms. Beside them, OpenID providers that are
/// no carriers, and a provider that speaks OAuth 2 only.
///
/// ```swift
/// let simulator = CarrierSimulator(clients: [.init(id: "shop", secret: Secret("…"), redirectURIs: ["app:/back"])])
/// let running = try simulator.start()
/// let code = try simulator.issueCode(
///     mccmnc: "310010", clientID: "shop", redirectURI: "app:/back", codeChallenge: challenge, nonce: "n-1")
/// ```
///
/// A carrier does what the standards say until it is given a ``Fault``. Nothing here is for real users: whoever
/// reaches the simulator can sign in as anybody.
public final class CarrierSimulator: Sendable {
    /// Waits. Tests give one that only notes for how long it was asked to.
    public typealias Pause = @Sendable (Duration) async throws -> Void

    let clients: [String: Client]
    let clock: WallClock
    let random: RandomSource
    let pause: Pause
    let keyPool = KeyPool.shared
    private let state: Mutex<SimulatorState>

    /// - Parameters:
    ///   - carriers: of two with one network code, the later counts.
    ///   - clients: of two with one id, the later counts.
    ///   - pause: how the slow faults wait.
    public init(
        carriers: [Carrier] = Carrier.defaults + Carrier.otherProviders, clients: [Client], clock: WallClock = .system,
        random: RandomSource = .system, pause: @escaping Pause = { try await Task.sleep(for: $0) }
    ) {
        self.clients = Dictionary(clients.map { ($0.id, $0) }) { _, later in later }
        self.clock = clock
        self.random = random
        self.pause = pause
        state = Mutex(SimulatorState(carriers: Dictionary(carriers.map { ($0.mccmnc, $0) }) { _, later in later }))
    }

    func withState<Result>(
        _ body: (inout sending SimulatorState) throws -> sending Result
    ) rethrows -> sending Result {
        try state.withLock(body)
    }
}

extension CarrierSimulator {
    /// Where the simulator is reached, such as `http://127.0.0.1:8081`. Set it once the port is known; issuers and
    /// endpoints begin with it.
    public var baseURL: String? {
        get { withState { $0.baseURL } }
        set { withState { $0.baseURL = newValue.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } } }
    }

    /// Where a relying party asks for a carrier's configuration, with `client_id` and `mccmnc`.
    public var discoveryURL: String? { baseURL.map { $0 + "/.well-known/openid_configuration" } }

    /// Where a relying party sends a browser whose carrier it does not know.
    public var discoveryUIURL: String? { baseURL.map { $0 + "/ui/discovery-ui" } }

    /// Where a relying party sends a browser with an authorization request for whatever carrier it has.
    public var optimizedDiscoveryURL: String? { baseURL.map { $0 + "/v1/auth" } }

    /// The carriers as they are now, in the order of their network codes; without providers that are none.
    public var carriers: [Carrier] {
        withState { state in
            state.carriers.values.filter(\.isCarrier).sorted { $0.mccmnc < $1.mccmnc }
        }
    }

    /// The issuer of a carrier or provider; nil if there is none of the name.
    public func issuer(of name: String) -> String? { withState { $0.site(name)?.issuer } }

    /// Changes a carrier while it runs. An unknown network code changes nothing.
    public func update(_ mccmnc: String, _ change: (inout Carrier) -> Void) {
        withState { state in
            guard var carrier = state.carriers[mccmnc] else { return }
            change(&carrier)
            state.carriers[mccmnc] = carrier
        }
    }

    /// Adds a carrier while the simulator runs, in place of one of its network code.
    package func add(_ carrier: Carrier) {
        withState { $0.carriers[carrier.mccmnc] = carrier }
    }

    /// Sets what a carrier does wrong from now on, in place of what it did wrong before.
    public func setFaults(_ faults: Set<Fault>, for mccmnc: String) {
        update(mccmnc) { $0.faults = faults }
    }

    /// Replaces a carrier's keys: the key set holds only the new one, and new tokens are signed by it.
    public func rotateKeys(_ mccmnc: String) {
        withState { state in
            guard state.carriers[mccmnc] != nil else { return }
            // Keys come from a pool that lives as long as the process; after 32 rotations they come round again.
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
                group.addTask { [keyPool] in _ = try await CarrierKeys(site: site, pool: keyPool).signing() }
            }
            try await group.waitForAll()
        }
    }

    /// Makes the keys that carriers of a key ring sign with and publish, faults included, so that nothing waits for them.
    package func prepareKeys(ofRing keyRing: String, generations: Int) async throws {
        var slots = [
            KeyPool.Slot(mccmnc: keyRing, purpose: .weak), KeyPool.Slot(mccmnc: keyRing, purpose: .stranger),
            KeyPool.Slot(mccmnc: keyRing, purpose: .signing(.es256)),
        ]
        for number in 0...1 { slots.append(.init(mccmnc: keyRing, purpose: .decoy(.rs256, number))) }
        for generation in 0..<generations {
            slots.append(.init(mccmnc: keyRing, purpose: .signing(.rs256), generation: generation))
        }
        for slot in slots { _ = try await keyPool.key(slot) }
    }

    /// What came in so far.
    public var log: RequestLog { withState { $0.log } }
}
