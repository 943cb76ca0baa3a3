import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// TLS over real sockets.
@Suite("TLS", .serialized)
struct TLSTests {
    @Test("TLS 1.2 and 1.3 work, with forward secrecy and authenticated encryption", arguments: ["1_2", "1_3"])
    func versions(_ version: String) async throws {
        try await TLSHarness.run { harness in
            let said = try await harness.python(
                """
                c = connect(least=ssl.TLSVersion.TLSv\(version), most=ssl.TLSVersion.TLSv\(version))
                c.sendall(request("/here"))
                print(c.version(), c.cipher()[0], answer(c))
                """)
            #expect(said.hasPrefix("TLSv\(version == "1_2" ? "1.2 ECDHE-ECDSA-" : "1.3 TLS_")"), "\(said)")
            #expect(said.contains("GCM") || said.contains("CHACHA20"), "\(said)")
            #expect(said.hasSuffix("200 GET /here"), "\(said)")
        }
    }

    @Test("Older versions and weaker ciphers are refused with an alert")
    func refusedVersions() async throws {
        try await TLSHarness.run { harness in
            for version in ["TLSv1", "TLSv1_1"] {
                let said = try await harness.python(
                    "v = ssl.TLSVersion.\(version)\nprint(failure(lambda: connect(least=v, most=v)))")
                #expect(said == "TLSV1 ALERT PROTOCOL VERSION")
            }
            for cipher in ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "AES128-GCM-SHA256", "NULL"] {
                let ending = try await harness.openssl("-tls1_2 -cipher \(cipher):@SECLEVEL=0")
                #expect(ending.status != 0, "\(cipher)")
            }
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    @Test("ALPN selects http/1.1 if offered, and other protocols alone get an alert")
    func protocols() async throws {
        try await TLSHarness.run { harness in
            let said = try await harness.python(
                """
                print(connect(alpn=["h2", "http/1.1"]).selected_alpn_protocol())
                print(connect().selected_alpn_protocol())
                print(failure(lambda: connect(alpn=["h2"])))
                """)
            #expect(said == "http/1.1\nNone\nTLSV1 ALERT NO APPLICATION PROTOCOL")
            let curl = try await harness.curl("-w", " %{http_version} %{ssl_verify_result}", path: "/curl")
            #expect(curl.output == "GET /curl  1.1 0")
        }
    }

    @Test("A connection serves several requests, in one piece or one byte per record")
    func requestsInARow() async throws {
        try await TLSHarness.run { harness in
            let said = try await harness.python(
                """
                c = connect()
                c.sendall(request("/1"))
                print(answer(c))
                c.sendall(request("/2") + request("/3", method="POST", body=b"body") + request("/4"))
                print(answer(c), answer(c), answer(c))
                for byte in request("/5"):
                    c.sendall(bytes([byte]))
                print(answer(c))
                c.sendall(request("/6", "Connection: close"))
                print(answer(c), c.recv(1))
                """)
            #expect(said == "200 GET /1 \n200 GET /2  200 POST /3 body 200 GET /4 \n200 GET /5 \n200 GET /6  b''")
        }
    }

    @Test("Large contents pass in both directions, also to a slow reader", arguments: ["1_2", "1_3"])
    func large(_ version: String) async throws {
        var limits = ServerLimits()
        limits.bodyBytes = 8 << 20
        try await TLSHarness.run(limits: limits) { harness in
            let said = try await harness.python(
                """
                c = connect(room=65536, least=ssl.TLSVersion.TLSv\(version), most=ssl.TLSVersion.TLSv\(version))
                body = bytes(65 + n % 26 for n in range(3000000))
                for n in range(2):
                    c.sendall(request("/", method="POST", body=body))
                    time.sleep(0.2)
                    print(answer(c) == "200 POST / " + body.decode())
                """)
            #expect(said == "True\nTrue")
        }
    }

    @Test("The server sends close_notify to a client that closes, and to one that idles too long")
    func ends() async throws {
        var timeouts = ServerTimeouts()
        timeouts.idle = .seconds(2)
        timeouts.header = .seconds(2)
        try await TLSHarness.run(timeouts: timeouts) { harness in
            let said = try await harness.python(
                """
                c = connect()
                c.sendall(request("/"))
                print(answer(c))
                c.unwrap()
                print("ended")
                # The server's end comes in order, and not as a connection that breaks off.
                c = connect()
                print(c.recv(1))
                c = connect()
                c.sendall(b"GET / HT")
                print(answer(c)[:3], c.recv(1))
                """)
            #expect(said == "200 GET / \nended\nb''\n408 b''")
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    @Test("A client that resets leaks nothing")
    func reset() async throws {
        try await TLSHarness.run(handler: { _ in
            Response(status: .ok, headers: [:], body: [UInt8](repeating: 65, count: 6 << 20))
        }) { harness in
            let said = try await harness.python(
                """
                import struct
                for part in [b"", b"GET / HT", request("/")]:
                    c = connect()
                    c.sendall(part)
                    if part.endswith(b"\\r\\n"):
                        c.recv(1)
                    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    c.close()
                print("done")
                """)
            #expect(said == "done")
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    /// Whether certificates are requested, the client's certificate, and the response; nil if the client is refused.
    static let shown: [(TLSCredentials.Clients, String, String?)] = [
        (.none, "None", "200 -"), (.none, "'good.pem'", "200 -"),
        (.optional, "None", "200 -"), (.optional, "'good.pem'", "200 CN=service-1"), (.optional, "'bad.pem'", nil),
        (.required, "None", nil), (.required, "'good.pem'", "200 CN=service-1"), (.required, "'bad.pem'", nil),
    ]

    @Test("Client certificates are requested as configured, and the handler sees the subject", arguments: shown)
    func clientCertificates(_ clients: TLSCredentials.Clients, _ file: String, _ answer: String?) async throws {
        let handler: Handler = { request in
            let certificate = request.clientCertificate
            let isWhole = certificate.map { $0.fingerprint.utf8.count == 64 } ?? true
            return Response(
                status: isWhole ? .ok : .internalServerError, contentType: "text/plain",
                text: certificate?.subject ?? "-")
        }
        try await TLSHarness.run(clients: clients, handler: handler) { harness in
            for version in ["1_2", "1_3"] {
                let said = try await harness.python(
                    """
                    def ask():
                        v = ssl.TLSVersion.TLSv\(version)
                        c = connect(least=v, most=v, show=\(file))
                        c.sendall(request("/"))
                        print(answer(c))
                    print(failure(ask))
                    """)
                if let answer {
                    #expect(said == answer + "\nnone")
                } else {
                    let told = [
                        "TLSV13 ALERT CERTIFICATE REQUIRED", "SSLV3 ALERT HANDSHAKE FAILURE",
                        "TLSV1 ALERT UNKNOWN CA",
                    ]
                    #expect(told.contains(said), "\(version): \(said)")
                }
            }
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    @Test("TLS sessions are resumed, also with client certificates")
    func resumption() async throws {
        try await TLSHarness.run(clients: .required) { harness in
            for version in ["1_2", "1_3"] {
                let said = try await harness.python(
                    """
                    v = ssl.TLSVersion.TLSv\(version)
                    using = context(least=v, most=v, show="good.pem")
                    first = connect(using=using)
                    first.sendall(request("/1"))
                    print(answer(first))
                    second = connect(using=using, session=first.session)
                    second.sendall(request("/2"))
                    print(answer(second), second.session_reused)
                    """)
                #expect(said == "200 GET /1 \n200 GET /2  True", "\(version)")
            }
        }
    }

    @Test("A new certificate applies to the next handshake; open connections continue")
    func replacement() async throws {
        let held = HeldRequest("/replace")
        try await TLSHarness.run(handler: held.handler) { harness in
            async let said = harness.python(
                """
                def name(c):
                    return c.getpeercert()["subject"][0][0][1]
                old = connect()
                print(name(old))
                old.sendall(request("/replace"))
                print(answer(old))
                new = connect()
                print(name(new))
                for c in [old, new]:
                    c.sendall(request("/after"))
                    print(answer(c))
                """)
            await held.entered.pass()
            harness.tls.replace(
                with: try ServerTLS(TLSHarness.credentials(chain: TLSTexts.otherChain, key: TLSTexts.otherKey)))
            held.released.open()
            #expect(
                try await said
                    == "first.example\n200 GET /replace \nsecond.example\n200 GET /after \n200 GET /after")
        }
    }

    @Test("Renegotiation is refused")
    func renegotiation() async throws {
        try await TLSHarness.run { harness in
            let ending = try await harness.openssl("-tls1_2 -no_ign_eof", input: "R\n")
            #expect(ending.output.contains("RENEGOTIATING"))
            #expect(ending.output.contains("no renegotiation"), "\(ending.output.suffix(300))")
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    @Test(
        "Plain HTTP on a TLS port gets a response that names the protocol",
        arguments: [
            request("GET /"), request("POST /", "Content-Length: 5", then: "hello"), "GET / HTTP/1.0\r\n\r\n",
        ])
    func plainHTTP(_ text: String) async throws {
        try await TLSHarness.run { harness in
            let answers = try await harness.live.answers(to: text)
            #expect(answers.map(\.status) == [400])
            #expect(answers.first?.text.contains("https://") == true)
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    @Test(
        "Bytes that are not a handshake close the connection",
        arguments: [
            [UInt8](repeating: 0, count: 100), Array("SSH-2.0-x\r\n".utf8), [UInt8](repeating: 0x16, count: 5000),
            [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0], [0x15, 3, 1, 0, 2, 2, 40], [0x80, 0x2e, 1, 0, 2], Array("\r\n\r\n".utf8),
        ])
    func garbage(_ bytes: [UInt8]) async throws {
        try await TLSHarness.run { harness in
            let client = try await harness.live.connect()
            try await client.send(bytes)
            await client.halfClose()
            #expect(await client.isCutOff())
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    @Test(
        "A handshake has a deadline that its bytes do not move",
        arguments: [
            [], [0x16], [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3],
        ] as [[UInt8]])
    func handshakeDeadline(_ bytes: [UInt8]) async throws {
        var timeouts = ServerTimeouts()
        timeouts.handshake = .milliseconds(300)
        try await TLSHarness.run(timeouts: timeouts) { harness in
            let client = try await harness.live.connect()
            // On a busy machine the deadline may have passed.
            try? await client.send(bytes)
            // The rest of a ClientHello would follow.
            if bytes.count > 1 {
                try? await client.drip([UInt8](repeating: 0, count: 40), every: .milliseconds(100))
            }
            #expect(await client.isCutOff())
            #expect(try await harness.live.reachesConnectionCount(0))
        }
    }

    @Test("Stalled handshakes do not lock out other clients")
    func stalled() async throws {
        var limits = ServerLimits()
        limits.handshakes = 4
        limits.connections = 40
        var timeouts = ServerTimeouts()
        timeouts.handshake = .seconds(60)
        try await TLSHarness.run(limits: limits, timeouts: timeouts) { harness in
            var stalled: [RawClient] = []
            // One after the other, so that the first is the oldest.
            for count in 1...4 {
                stalled.append(try await harness.live.connect())
                #expect(try await harness.live.reachesConnectionCount(count))
            }
            // All are young: the fifth is cut, and retries until the oldest is one second old.
            let said = try await harness.python(
                """
                end, said = time.monotonic() + 30, ""
                while said != "none" and time.monotonic() < end:
                    def ask():
                        c = connect()
                        c.sendall(request("/served"))
                        print(answer(c))
                    said = failure(ask)
                    time.sleep(0.05)
                print(said)
                """)
            #expect(said == "200 GET /served \nnone")
            #expect(await stalled[0].isCutOff())
            #expect(harness.live.server.connectionCount >= 3)
        }
    }

    @Test("Shutdown completes running requests and closes idle connections and handshakes properly")
    func shutdown() async throws {
        let held = HeldRequest()
        try await TLSHarness.run(handler: held.handler) { harness in
            let half = try await harness.live.connect()
            async let said = harness.python(
                """
                idle, busy = connect(), connect()
                idle.sendall(request("/"))
                print(answer(idle))
                busy.sendall(request("/wait"))
                print(idle.recv(1))
                print(answer(busy), busy.recv(1))
                """)
            await held.entered.pass()
            async let cut = harness.live.server.shutdown(within: .seconds(60))
            #expect(await half.isCutOff())
            held.released.open()
            #expect(try await said == "200 GET / \nb''\n200 GET /wait  b''")
            #expect(await cut == 0)
        }
    }

    @Test("HTTP, HTTPS and the redirect between them work side by side")
    func sideBySide() async throws {
        let tls = try ServerTLS(TLSHarness.credentials())
        var configuration = ServerConfiguration(port: 0, loops: 2)
        configuration.listeners += [
            ListeningPoint(hosts: ["127.0.0.1"], port: 0, kind: .tls(tls)),
            ListeningPoint(
                hosts: ["127.0.0.1"], port: 0, kind: .redirect(origin: "https://login.example.com:8443")),
        ]
        let server = Server(
            configuration: configuration, logger: LiveServer.silentLogger, handler: immediate(LiveServer.echo))
        let ports = try server.start().map(\.port)
        #expect(Set(ports).count == 3)
        let plain = LiveServer(server: server, port: ports[0])
        #expect(try await plain.answers(to: request("GET /", "Connection: close")).map(\.text) == ["GET / "])
        let curl = try await Program.run("curl", ["-sSk", "--max-time", "120", "https://127.0.0.1:\(ports[1])/x"])
        #expect(curl.output == "GET /x ")
        let redirect = LiveServer(server: server, port: ports[2])
        for (target, location) in [
            ("/", "/"), ("/a/b?x=1&y=%2f", "/a/b?x=1&y=%2f"), ("/a%20b%3fc%25", "/a%20b%3Fc%25"), ("//evil", "//evil"),
            ("http://evil.example/x", "/x"), ("/%C3%A9", "/%C3%A9"),
        ] {
            let text = "POST \(target) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
            let answer = try #require(try await redirect.answers(to: text).first)
            #expect(answer.status == 308)
            #expect(answer["location"] == "https://login.example.com:8443" + location)
        }
        await server.shutdown(within: .zero)
    }
}
