import Dispatch

extension RawHTTPPeer.Connection {
    /// Forwards a request to another server on 127.0.0.1, and returns the response byte for byte. The request asks the
    /// server to close, so that the end of the connection is the end of the response.
    ///
    /// - Returns: False if the server did not respond in time.
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
