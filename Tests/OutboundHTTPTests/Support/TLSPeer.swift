/// Python's HTTP server behind TLS: answers a POST with the request's body, or with the name that the client asked for
/// in the handshake, or with the name in the client's certificate and the client's port.
struct TLSPeer {
    private let server: PythonServer

    /// - Parameter clientAuthority: What clients' certificates must chain to; nil if clients are not asked.
    init(
        certificate: String, key: String, newestVersion: String = "TLSv1_3", ciphers: String? = nil,
        clientAuthority: String? = nil, requiresClientCertificate: Bool = false
    ) async throws {
        server = try await PythonServer(
            Self.program,
            [
                certificate, key, newestVersion, ciphers ?? "", clientAuthority ?? "",
                requiresClientCertificate ? "CERT_REQUIRED" : "CERT_OPTIONAL",
            ])
    }

    var port: Int { server.port }

    func stop() { server.stop() }

    func url(_ host: String = "127.0.0.1", _ path: String = "/") -> String { "https://\(host):\(port)\(path)" }

    private static let program = """
        import http.server, ssl, sys, warnings
        warnings.simplefilter("ignore")

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/name":
                    body = repr(getattr(self.connection, "asked", None)).encode()
                if self.path == "/certificate":
                    certificate = self.connection.getpeercert()
                    name = certificate["subject"][0][0][1] if certificate else "-"
                    body = f"{name} {self.client_address[1]}".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("X-Peer-Port", str(self.client_address[1]))
                self.end_headers()
                self.wfile.write(body)
            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, address):
                pass

        def remember(connection, name, context):
            connection.asked = name

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = remember
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        if sys.argv[3] == "TLSv1_1":
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
        if sys.argv[4]:
            context.set_ciphers(sys.argv[4])
        if sys.argv[5]:
            context.load_verify_locations(sys.argv[5])
            context.verify_mode = getattr(ssl, sys.argv[6])
        context.maximum_version = getattr(ssl.TLSVersion, sys.argv[3])
        server = Server(("127.0.0.1", 0), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print(server.server_port, flush=True)
        server.serve_forever()
        """
}
