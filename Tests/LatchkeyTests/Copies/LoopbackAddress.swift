/// An address of this machine's loopback network that nobody else here has, so that a server that ends can be started
/// again on its port: no connection goes out from such an address, and takes the port meanwhile.
struct LoopbackAddress: Sendable, CustomStringConvertible {
    let host: String
    let port: UInt16

    init() {
        host = "127.\(Int.random(in: 16...250)).\(Int.random(in: 0...255)).\(Int.random(in: 2...250))"
        // Below the ports that connections go out from, for somebody may listen on all addresses.
        port = UInt16.random(in: 20_000..<30_000)
    }

    var description: String { "\(host):\(port)" }
}
