import Dispatch

extension RawHTTPPeer.Connection {
    /// Sends a request on to another server of 127.0.0.1, and what that answers back, byte for byte. The server is asked
    /// to close after it, so that the end of the answer is the end of the connection.
    ///
    /// - Returns: False if the server did not answer within the time.
    @discardableResult
    public func relay(_ request: RawHTTPPeer.Request, to port: UInt16, within seconds: Int) -> Bool {
        let end = DispatchTime.now() + .seconds(seconds)
        guard case .success(let server) = RawSocket.connect("127.0.0.1", port, until: end, receiveBufferBytes: nil)
        else { return false }
        defer { RawSocket.closeDescriptor(server) }
        var head = request.startLine + "\r\n"
        for (name, value) in request.fields where name != "connection" { head += "\(name): \(value)\r\n" }
        do throws(RawClient.Failure) {
            try RawSocket.send(server, Array((head + "connection: close\r\n\r\n").utf8) + request.body, until: end)
            while true {
                let bytes = try RawSocket.receive(server, until: end)
                if bytes.isEmpty { return true }
                guard send(bytes) else { return true }
            }
        } catch {
            return false
        }
    }
}
