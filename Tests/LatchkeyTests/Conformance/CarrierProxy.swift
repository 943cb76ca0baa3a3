import CarrierSimulator
import Primitives
import Synchronization
import TestSupport

/// A proxy between Latchkey and the simulator. It counts the requests of each carrier and forwards them; a
/// case can replace a response by a script, which may be invalid HTTP.
final class CarrierProxy: Sendable {
    typealias Endpoint = CarrierSimulator.RequestLog.Endpoint
    typealias Script = @Sendable (RawHTTPPeer.Connection) -> Void

    struct Target: Hashable {
        let mccmnc: String
        let endpoint: Endpoint
    }

    private struct State {
        var scripts: [Target: Script] = [:]
        var counts: [Target: Int] = [:]
        var simulator: UInt16 = 0
    }

    private let state: StateBox
    private let peer: RawHTTPPeer

    private final class StateBox: Sendable {
        let state = Mutex(State())
    }

    init() throws {
        let box = StateBox()
        state = box
        peer = try RawHTTPPeer(recordsRequests: false) { connection in
            guard let request = connection.readRequest() else { return }
            let target = CarrierProxy.target(of: request)
            let (script, simulator) = box.state.withLock { state in
                if let target { state.counts[target, default: 0] += 1 }
                return (target.flatMap { state.scripts[$0] }, state.simulator)
            }
            if let script { return script(connection) }
            connection.relay(request, to: simulator, within: 20)
        }
    }

    var url: String { "http://127.0.0.1:\(peer.port)" }

    /// Sets the port of the simulator.
    func setSimulator(port: UInt16) { state.state.withLock { $0.simulator = port } }

    /// Replaces the scripts of a carrier's endpoints.
    func setScripts(_ scripts: [Endpoint: Script], for mccmnc: String) {
        state.state.withLock { state in
            state.scripts = state.scripts.filter { $0.key.mccmnc != mccmnc }
            for (endpoint, script) in scripts { state.scripts[Target(mccmnc: mccmnc, endpoint: endpoint)] = script }
        }
    }

    func count(_ endpoint: Endpoint, _ mccmnc: String) -> Int {
        state.state.withLock { $0.counts[Target(mccmnc: mccmnc, endpoint: endpoint)] ?? 0 }
    }

    /// Counts a request that bypassed the proxy.
    func note(_ endpoint: Endpoint, _ mccmnc: String) {
        state.state.withLock { $0.counts[Target(mccmnc: mccmnc, endpoint: endpoint), default: 0] += 1 }
    }

    func stop() { peer.stop() }

    private static func target(of request: RawHTTPPeer.Request) -> Target? {
        let words = request.startLine.split(separator: " ")
        guard words.count == 3 else { return nil }
        let requestTarget = words[1].split(separator: "?", maxSplits: 1)
        let path = requestTarget[0].split(separator: "/")
        if path.first == ".well-known", requestTarget.count == 2 {
            let items = requestTarget[1].split(separator: "&")
            guard let item = items.first(where: { $0.hasPrefix("mccmnc=") }) else { return nil }
            return Target(mccmnc: String(item.dropFirst("mccmnc=".count)), endpoint: .discovery)
        }
        guard path.count >= 3, path[0] == "carriers", let endpoint = endpoints[String(path[2])] else { return nil }
        return Target(mccmnc: String(path[1]), endpoint: endpoint)
    }

    private static let endpoints: [String: Endpoint] = [
        "token": .token, "jwks": .keys, "userinfo": .userInfo, "canary": .canary,
        "par": .pushedAuthorization,
    ]
}
