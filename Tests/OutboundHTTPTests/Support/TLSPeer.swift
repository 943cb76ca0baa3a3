import Foundation
import Synchronization
import Testing

/// Python's HTTP server behind TLS: answers a POST with the request's body, and knows nothing of our code.
final class TLSPeer: Sendable {
    let port: Int
    private let process: Mutex<Process>

    init(certificate: String, key: String, newestVersion: String = "TLSv1_3") async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.program, certificate, key, newestVersion]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let line = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.fileHandleForReading.availableData) }
        }
        self.process = Mutex(process)
        let text = String(decoding: line, as: UTF8.self).split(separator: "\n").first
        port = try #require(text.flatMap { Int($0) }, "python3 did not start a server")
    }

    /// By SIGKILL: what was started on one of Dispatch's threads has that thread's signal mask, and takes no SIGTERM.
    func stop() { process.withLock { _ = kill($0.processIdentifier, SIGKILL) } }

    func url(_ host: String = "127.0.0.1") -> String { "https://\(host):\(port)/" }

    private static let program = """
        import http.server, ssl, sys, warnings
        warnings.simplefilter("ignore")

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
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

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        if sys.argv[3] == "TLSv1_1":
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = getattr(ssl.TLSVersion, sys.argv[3])
        server = Server(("127.0.0.1", 0), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print(server.server_port, flush=True)
        server.serve_forever()
        """
}
