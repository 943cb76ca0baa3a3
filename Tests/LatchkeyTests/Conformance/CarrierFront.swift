import CarrierSimulator
import Synchronization
import TestSupport

/// What stands between Latchkey and the simulator: it counts the requests of each carrier, passes them on, and where a
/// case wants an answer that is no proper HTTP, gives that instead.
final class CarrierFront: Sendable {
    typealias Endpoint = CarrierSimulator.RequestLog.Endpoint
    typealias Script = @Sendable (RawHTTPPeer.Connection) -> Void

    struct Place: Hashable {
        let mccmnc: String
        let endpoint: Endpoint
    }

    private struct State {
        var scripts: [Place: Script] = [:]
        var counts: [Place: Int] = [:]
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
            let place = CarrierFront.place(of: request)
            let (script, simulator) = box.state.withLock { state in
                if let place { state.counts[place, default: 0] += 1 }
                return (place.flatMap { state.scripts[$0] }, state.simulator)
            }
            if let script { return script(connection) }
            connection.relay(request, to: simulator, within: 20)
        }
    }

    var url: String { "http://127.0.0.1:\(peer.port)" }

    /// Where requests are passed on to.
    func setSimulator(port: UInt16) { state.state.withLock { $0.simulator = port } }

    /// What a carrier's endpoints answer instead of the simulator, in place of what was set before.
    func setScripts(_ scripts: [Endpoint: Script], for mccmnc: String) {
        state.state.withLock { state in
            state.scripts = state.scripts.filter { $0.key.mccmnc != mccmnc }
            for (endpoint, script) in scripts { state.scripts[Place(mccmnc: mccmnc, endpoint: endpoint)] = script }
        }
    }

    func count(_ endpoint: Endpoint, _ mccmnc: String) -> Int {
        state.state.withLock { $0.counts[Place(mccmnc: mccmnc, endpoint: endpoint)] ?? 0 }
    }

    /// Counts a request that came past the front.
    func note(_ endpoint: Endpoint, _ mccmnc: String) {
        state.state.withLock { $0.counts[Place(mccmnc: mccmnc, endpoint: endpoint), default: 0] += 1 }
    }

    func stop() { peer.stop() }

    private static func place(of request: RawHTTPPeer.Request) -> Place? {
        let words = request.startLine.split(separator: " ")
        guard words.count == 3 else { return nil }
        let target = words[1].split(separator: "?", maxSplits: 1)
        let path = target[0].split(separator: "/")
        if path.first == ".well-known", target.count == 2 {
            let items = target[1].split(separator: "&")
            guard let item = items.first(where: { $0.hasPrefix("mccmnc=") }) else { return nil }
            return Place(mccmnc: String(item.dropFirst("mccmnc=".count)), endpoint: .discovery)
        }
        guard path.count >= 3, path[0] == "carriers", let endpoint = endpoints[String(path[2])] else { return nil }
        return Place(mccmnc: String(path[1]), endpoint: endpoint)
    }

    private static let endpoints: [String: Endpoint] = [
        "token": .token, "jwks": .keys, "userinfo": .userInfo, "canary": .canary,
    ]
}
