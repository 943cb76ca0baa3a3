public import HTTPTypes

extension Request {
    /// A request without a socket, for tests and for calling a router directly; read by the parser of the network.
    /// - Throws: An error if the target or a field is malformed.
    public init(
        _ method: HTTPRequest.Method, _ target: String, headers: HTTPFields = [:], body: [UInt8] = [],
        peer: SocketAddress = SocketAddress(host: "127.0.0.1", port: 1)
    ) throws {
        var text = "\(method.rawValue) \(target) HTTP/1.1\r\n"
        if headers[HTTPField.Name("Host") ?? .from] == nil { text += "Host: localhost\r\n" }
        for field in headers { text += "\(field.name.rawName): \(field.value)\r\n" }
        var parser = HeadParser(limits: MessageLimits(ServerLimits()))
        guard case .complete(let head, _, _) = try parser.parse(Array((text + "\r\n").utf8).span) else {
            throw RequestError.incomplete
        }
        self.init(head: head, body: body, client: ConnectedClient(peer))
    }
}
