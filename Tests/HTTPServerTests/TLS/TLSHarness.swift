import HTTPServer
import Primitives
import TestSupport
import Testing

/// A TLS server, and clients that do not use our code: Python's and curl's.
struct TLSHarness {
    let live: LiveServer
    let tls: ServerTLS
    private let directory: TemporaryDirectory

    static func credentials(
        chain: String = TLSTexts.chain, key: String = TLSTexts.key, clients: TLSCredentials.Clients = .none
    ) -> TLSCredentials {
        TLSCredentials(
            certificateChain: Array(chain.utf8), privateKey: Secret(key), clients: clients,
            clientAuthorities: Array(TLSTexts.authority.utf8))
    }

    static func run(
        clients: TLSCredentials.Clients = .none, besides others: [ListeningPoint] = [],
        limits: ServerLimits = ServerLimits(),
        timeouts: ServerTimeouts = ServerTimeouts(), handler: @escaping Handler = LiveServer.echo,
        test: (TLSHarness) async throws -> Void
    ) async throws {
        let tls = try ServerTLS(credentials(clients: clients))
        let directory = try TemporaryDirectory(files: [
            "ca.pem": TLSTexts.authority, "good.pem": TLSTexts.clientCertificate + "\n" + TLSTexts.clientKey,
            "bad.pem": TLSTexts.strangerCertificate + "\n" + TLSTexts.strangerKey,
        ])
        try await LiveServer.run(
            kind: .tls(tls), besides: others, limits: limits, timeouts: timeouts, handler: handler
        ) { live in
            try await test(TLSHarness(live: live, tls: tls, directory: directory))
        }
    }

    /// The output of a Python program, without white space at its end. The program can call `connect(…)`,
    /// `request(path, *fields)` and `answer(socket)`.
    func python(_ program: String) async throws -> String { try await self.program(TLSHarness.prelude + program) }

    /// The output of a Python program without these functions. Its argument is the port.
    func program(_ program: String) async throws -> String {
        let ending = try await Program.run("python3", ["-c", program, "\(live.port)"], in: directory.path)
        return ending.output.trimmingSuffix { $0.isWhitespace }
    }

    func curl(_ arguments: String..., path: String = "/") async throws -> Program.Ending {
        try await Program.run(
            "curl",
            ["-sS", "--max-time", "120", "--cacert", "ca.pem"] + arguments + ["https://localhost:\(live.port)\(path)"],
            in: directory.path)
    }

    func openssl(_ arguments: String, input: String = "") async throws -> Program.Ending {
        try await Program.run(
            "openssl",
            ["s_client", "-connect", "127.0.0.1:\(live.port)", "-CAfile", "ca.pem"]
                + arguments.split(separator: " ").map(String.init), in: directory.path, input: input)
    }

    private static let prelude = """
        import socket, ssl, sys, time, warnings
        warnings.simplefilter("ignore")
        port = int(sys.argv[1])

        def context(least=ssl.TLSVersion.TLSv1_2, most=ssl.TLSVersion.TLSv1_3, alpn=None, show=None):
            made = ssl.create_default_context(cafile="ca.pem")
            if least < ssl.TLSVersion.TLSv1_2:
                made.set_ciphers("ALL:@SECLEVEL=0")
            made.minimum_version, made.maximum_version = least, most
            if alpn:
                made.set_alpn_protocols(alpn)
            if show:
                made.load_cert_chain(show)
            return made

        def connect(session=None, using=None, room=None, **options):
            plain = socket.socket()
            plain.settimeout(120)
            if room:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            plain.connect(("127.0.0.1", port))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            using = using or context(**options)
            return using.wrap_socket(plain, server_hostname="127.0.0.1", session=session, suppress_ragged_eofs=False)

        def request(path, *fields, method="GET", body=b""):
            lines = [f"{method} {path} HTTP/1.1", "Host: a", *fields]
            if body:
                lines.append(f"Content-Length: {len(body)}")
            return ("\\r\\n".join(lines) + "\\r\\n\\r\\n").encode() + body

        def answer(connection):
            head = b""
            while not head.endswith(b"\\r\\n\\r\\n"):
                byte = connection.recv(1)
                if not byte:
                    raise EOFError(head)
                head += byte
            lines = head.lower().split(b"\\r\\n")
            length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
            body = b""
            while len(body) < length:
                piece = connection.recv(65536)
                if not piece:
                    raise EOFError(body)
                body += piece
            return head.split(b" ")[1].decode() + " " + body.decode()

        def failure(attempt):
            try:
                attempt()
                return "none"
            except ssl.SSLError as error:
                # Python has names for some alerts, and a sentence for the others.
                said = error.reason or str(error).split("]")[-1].split("(")[0].strip()
                return said.upper().replace("_", " ")
            except OSError as error:
                return type(error).__name__


        """
}

extension String {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, predicate(last) { text.removeLast() }
        return text
    }
}
