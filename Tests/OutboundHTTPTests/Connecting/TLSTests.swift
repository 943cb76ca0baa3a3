import Foundation
import Glibc
import OutboundHTTP
import Primitives
import TestSupport
import Testing

struct TLSTests {
    typealias Holder = IssuedCertificates.Holder

    @Test("A certificate of a trusted authority for the host is accepted", arguments: ["TLSv1_2", "TLSv1_3"])
    func trusted(version: String) async throws {
        try await withTLSPeer(.server, newestVersion: version) { peer, certificates in
            try await withClient {
                $0.caBundle = certificates.authority
            } _: { client in
                for body in ["one", "two", "three"] {
                    let response = try await client.send(.post(peer.url(), body: body))
                    #expect(response.status == 200)
                    #expect(response.body == Array(body.utf8))
                }
                #expect(try await client.send(.post(peer.url("localhost"))).status == 200)
            }
        }
    }

    @Test("A client that inspects certificates reports when one expires, and what is wrong with one")
    func inspection() async throws {
        try await withTLSPeer(.server) { peer, certificates in
            try await withClient {
                $0.caBundle = certificates.authority
                $0.inspectsCertificates = true
            } _: { client in
                let expiry = try #require(try await client.send(.post(peer.url())).certificateExpiry)
                let left = expiry.secondsSinceEpoch - Int64(Date().timeIntervalSince1970)
                // It was made for a hundred days, a moment ago.
                #expect((100 * 86_400 - 600...100 * 86_400).contains(left))
            }
            try await withClient {
                $0.caBundle = certificates.authority
            } _: { client in
                let response = try await client.send(.post(peer.url()))
                #expect(response.certificateExpiry == nil)
            }
        }
        try await withTLSPeer(.expiredServer) { peer, certificates in
            try await withClient {
                $0.caBundle = certificates.authority
                $0.inspectsCertificates = true
            } _: { client in
                let error = await client.failure(try .post(peer.url()))
                #expect(error?.code == .tls)
                #expect(error?.reason.contains("expired") == true, "\(error?.reason ?? "")")
            }
        }
    }

    @Test("A certificate of an unknown authority is refused, and nothing is sent")
    func unknownAuthority() async throws {
        try await withTLSPeer(.server) { peer, _ in
            try await withClient { try await Self.expectTLSFailure($0, peer) }
        }
    }

    @Test(
        "A certificate that is for another host, expired or not valid yet is refused",
        arguments: [Holder.otherServer, .expiredServer])
    func wrongCertificate(holder: Holder) async throws {
        try await withTLSPeer(holder) { peer, certificates in
            try await withClient {
                $0.caBundle = certificates.authority
            } _: {
                try await Self.expectTLSFailure($0, peer)
            }
        }
    }

    @Test(
        "A wildcard is for one whole label; a name is not an address",
        arguments: [
            ("a.wide.example", true), ("b.wide.example", true), ("wide.example", false), ("a.b.wide.example", false),
            ("partial.part.example", false), ("other.example", false), ("127.0.0.1", false),
        ])
    func names(host: String, isAccepted: Bool) async throws {
        let resolver = Resolver { _ in [IPAddress("127.0.0.1")].compactMap(\.self) }
        try await withTLSPeer(.wildcardServer) { peer, certificates in
            try await withClient(resolvedBy: resolver) {
                $0.caBundle = certificates.authority
            } _: { client in
                let error = await client.failure(try .post(peer.url(host)))
                #expect(error?.code == (isAccepted ? nil : .tls), "\(error?.reason ?? "answered")")
                #expect(error?.mayHaveBeenSent != true)
                guard isAccepted else { return }
                // RFC 6066 section 3.
                let response = try await client.send(.post(peer.url(host, "/name")))
                #expect(response.body == Array("'\(host)'".utf8))
            }
        }
    }

    @Test("A host name in the subject of a certificate does not count")
    func nameInSubject() async throws {
        try await withTLSPeer(.commonNameServer) { peer, certificates in
            try await withClient {
                $0.caBundle = certificates.authority
            } _: { client in
                let error = await client.failure(try .post(peer.url("localhost")))
                #expect(error?.code == .tls)
                #expect(error?.mayHaveBeenSent == false)
            }
        }
    }

    @Test(
        "A cipher without forward secrecy is refused",
        arguments: [("ECDHE-ECDSA-AES128-SHA", true), ("AES128-SHA", false), ("AES256-GCM-SHA384", false)])
    func ciphers(names: String, isAccepted: Bool) async throws {
        let certificates = try await IssuedCertificates.make([.server], keyType: isAccepted ? .p256 : .rsa)
        let peer = try await TLSPeer(
            certificate: certificates.certificate(.server), key: certificates.key(.server),
            newestVersion: "TLSv1_2", ciphers: names)
        defer { peer.stop() }
        try await withClient {
            $0.caBundle = certificates.authority
        } _: { client in
            let error = await client.failure(try .post(peer.url()))
            #expect(error?.code == (isAccepted ? nil : .tls), "\(error?.reason ?? "answered")")
        }
    }

    @Test("No name is sent for an address")
    func noName() async throws {
        try await withTLSPeer(.server) { peer, certificates in
            try await withClient {
                $0.caBundle = certificates.authority
            } _: { client in
                try await client.expect(.post(peer.url("127.0.0.1", "/name")), Array("None".utf8))
            }
        }
    }

    // In a process of its own, where OpenSSL's configuration lets old versions pass: the client's own rule is what
    // counts.
    @Test("TLS older than 1.2 is refused, even if the system allows it")
    func oldVersion() async {
        await #expect(processExitsWith: .success) {
            let certificates = try await IssuedCertificates.make([.server])
            let lenient = try TemporaryDirectory(files: ["lenient.cnf": TLSTests.lenientConfiguration])
            setenv("OPENSSL_CONF", lenient.file("lenient.cnf"), 1)
            let peer = try await TLSPeer(
                certificate: certificates.certificate(.server), key: certificates.key(.server),
                newestVersion: "TLSv1_1")
            defer { peer.stop() }
            try await withClient {
                $0.caBundle = certificates.authority
            } _: {
                try await TLSTests.expectTLSFailure($0, peer)
            }
        }
    }

    @Test("Plain HTTP where TLS is expected is refused")
    func plainPeer() async throws {
        try await withPeer { connection in
            connection.answer()
        } _: { peer in
            try await withClient { client in
                let error = await client.failure(try .post("https://127.0.0.1:\(peer.port)/"))
                #expect(error?.code == .tls)
                #expect(error?.mayHaveBeenSent == false)
            }
        }
    }

    @Test("Authorities that cannot be read, and texts that cannot be sent, are refused at the start")
    func start() {
        #expect(startError { $0.caBundle = "/nowhere/authorities.pem" }?.code == .caBundle)
        #expect(startError { $0.additionalCABundle = "/nowhere/authorities.pem" }?.code == .caBundle)
        #expect(startError { $0.additionalCABundle = "/proc/self/cmdline" }?.code == .caBundle)
        #expect(startError { $0.userAgent = "a\r\nInjected: yes" }?.code == .configuration)
        #expect(startError { $0.proxy = "http://proxy\n" }?.code == .configuration)
        #expect(startError { $0.userAgent = "other/2" } == nil)
    }

    /// A loop may use TLS at that moment.
    @Test("OpenSSL frees nothing when the process exits")
    func exit() async {
        await #expect(processExitsWith: .success) {
            // Initializes OpenSSL.
            let client = try OutboundHTTPClient()
            typealias Handler = @convention(c) () -> Void
            let register = unsafeBitCast(
                try #require(dlsym(nil, "OPENSSL_atexit")), to: (@convention(c) (Handler) -> Int32).self)
            // OpenSSL calls it before it frees its memory.
            #expect(register { _exit(9) } == 1)
            await client.shutdown()
            Glibc.exit(0)
        }
    }

    private func startError(_ change: (inout OutboundHTTPConfiguration) -> Void) -> OutboundHTTPStartError? {
        var configuration = OutboundHTTPConfiguration()
        change(&configuration)
        do throws(OutboundHTTPStartError) {
            _ = try OutboundHTTPClient(configuration)
            return nil
        } catch {
            return error
        }
    }

    fileprivate static func expectTLSFailure(_ client: OutboundHTTPClient, _ peer: TLSPeer) async throws {
        let error = await client.failure(try .post(peer.url()))
        #expect(error?.code == .tls, "\(error?.reason ?? "answered")")
        #expect(error?.mayHaveBeenSent == false)
    }

    /// A configuration of OpenSSL that allows what is long out of use.
    fileprivate static let lenientConfiguration = """
        openssl_conf = lenient
        [lenient]
        ssl_conf = modules
        [modules]
        system_default = defaults
        [defaults]
        MinProtocol = TLSv1
        CipherString = ALL:@SECLEVEL=0
        """

    private func withTLSPeer(
        _ holder: Holder, newestVersion: String = "TLSv1_3",
        _ work: (TLSPeer, IssuedCertificates) async throws -> Void
    ) async throws {
        let certificates = try await IssuedCertificates.make([holder])
        let peer = try await TLSPeer(
            certificate: certificates.certificate(holder), key: certificates.key(holder),
            newestVersion: newestVersion)
        defer { peer.stop() }
        try await work(peer, certificates)
    }
}
