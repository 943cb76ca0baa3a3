/// A TLS server in Python that ends its part of a connection before it has read the whole request.
struct HastyTLSPeer {
    /// When it acts.
    enum Haste: String, CaseIterable, Sendable {
        /// It sends a response in the same segment as the end of the handshake.
        case answersWithHandshake
        /// It closes in the same segment as the end of the handshake.
        case closesWithHandshake
        /// It reads a part of the request, sends a response, and resets the connection.
        case answersThenResets
    }

    private let server: PythonServer

    init(_ haste: Haste, certificate: String, key: String) async throws {
        server = try await PythonServer(Self.program, [certificate, key, haste.rawValue])
    }

    var url: String { "https://127.0.0.1:\(server.port)/token" }

    func stop() { server.stop() }

    private static let program = """
        import socket, ssl, sys, threading

        RESPONSE = b"HTTP/1.1 429 Too Many Requests\\r\\nContent-Length: 2\\r\\n\\r\\n{}"
        haste = sys.argv[3]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        if haste != "answersThenResets":
            # In TLS 1.3 the handshake ends with a message of the client.
            context.maximum_version = ssl.TLSVersion.TLSv1_2

        def with_handshake(connection):
            received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(received, sent, server_side=True)
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    connection.sendall(sent.read())
                    received.write(connection.recv(65536))
            if haste == "answersWithHandshake":
                tls.write(RESPONSE)
            else:
                try:
                    tls.unwrap()
                except ssl.SSLWantReadError:
                    pass
            connection.sendall(sent.read())
            while connection.recv(65536):
                pass

        def then_reset(connection):
            tls = context.wrap_socket(connection, server_side=True)
            left = 1 << 20
            while left > 0:
                left -= len(tls.recv(65536)) or left
            tls.sendall(RESPONSE)
            # What it has not read makes this a reset.
            tls.close()

        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            serve = then_reset if haste == "answersThenResets" else with_handshake
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
        """
}
