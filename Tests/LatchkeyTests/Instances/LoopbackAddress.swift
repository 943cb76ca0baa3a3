/// A loopback address that no other process here uses, so that a server can be restarted
/// on its port: no outgoing connection from this address takes the port meanwhile.
struct LoopbackAddress: Sendable, CustomStringConvertible {
    let host: String
    let port: UInt16

    init() {
        host = "127.\(Int.random(in: 16...250)).\(Int.random(in: 0...255)).\(Int.random(in: 2...250))"
        // Below the ports of outgoing connections, because another process may listen on all addresses.
        port = UInt16.random(in: 20_000..<30_000)
    }

    var description: String { "\(host):\(port)" }
}
