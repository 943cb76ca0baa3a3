/// The other end of a connection. All requests of the connection refer to it, so that copies of a request stay small.
final class ConnectedClient: Sendable {
    let address: SocketAddress
    /// Nil before the end of the handshake, and if the client sent none.
    let certificate: ClientCertificate?

    init(_ address: SocketAddress, certificate: ClientCertificate? = nil) {
        self.address = address
        self.certificate = certificate
    }
}
