public import Foundation

/// Connects over the phone's cellular interface, whatever else the phone is connected to. An operator recognises the
/// phone by this connection.
///
/// On Apple platforms `CellularInterface` is one. Tests and other platforms have their own.
public protocol CellularNetwork: Sendable {
    /// Opens a connection.
    /// - Throws: If there is no cellular interface, or no connection over it.
    func connect(to endpoint: CellularEndpoint) async throws -> any CellularConnection
}

/// An open connection. It is used for one request.
public protocol CellularConnection: Sendable {
    /// Sends bytes.
    func send(_ bytes: Data) async throws
    /// Waits for bytes.
    /// - Returns: At least one byte and at most `limit`; nil after the last one.
    func receive(upTo limit: Int) async throws -> Data?
    /// Ends the connection. A waiting ``receive(upTo:)`` returns or throws.
    func close()
}

/// Where to connect to.
public struct CellularEndpoint: Sendable, Hashable {
    /// A name, or an address without brackets.
    public let host: String
    /// The TCP port.
    public let port: UInt16
    /// Whether the connection uses TLS, with the host's certificate checked as the system does. Only connections to
    /// this machine are without it.
    public let usesTLS: Bool
}
