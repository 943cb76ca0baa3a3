/// An HTTP proxy in Python that makes tunnels (CONNECT) for clients with the right credentials.
struct TunnelProxy {
    private let server: PythonServer

    /// - Parameter authorization: The value of `Proxy-Authorization` that it asks for.
    init(authorization: String) async throws { server = try await PythonServer(Self.program, [authorization]) }

    var port: Int { server.port }

    func stop() { server.stop() }

    private static let program = """
        import select, socket, sys, threading

        def serve(client):
            head = b""
            while not head.endswith(b"\\r\\n\\r\\n"):
                byte = client.recv(1)
                if not byte:
                    return client.close()
                head += byte
            lines = head.decode().split("\\r\\n")
            if "Proxy-Authorization: " + sys.argv[1] not in lines:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\\r\\nContent-Length: 2\\r\\n\\r\\nno")
                return client.close()
            method, target, version = lines[0].split(" ")
            if method != "CONNECT" or "Host: " + target not in lines:
                client.sendall(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
                return client.close()
            host, port = target.rsplit(":", 1)
            server = socket.create_connection((host, int(port)))
            client.sendall(b"HTTP/1.1 200 Connection established\\r\\nVia: test\\r\\n\\r\\n")
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    bytes = ready.recv(65536)
                    if not bytes:
                        client.close()
                        return server.close()
                    (server if ready is client else client).sendall(bytes)

        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
}
