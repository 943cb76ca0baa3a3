import OpenIDConnect
import OutboundHTTP
import Primitives
import TestSupport
import Testing

@Suite("The certificate of a client")
struct ClientCertificateTests {
    typealias Holder = IssuedCertificates.Holder

    /// What a holder presents.
    private static func clientTLS(
        _ holder: Holder, _ certificates: IssuedCertificates, key: Holder? = nil
    ) throws -> ClientTLS {
        ClientTLS(try certificate(holder, certificates, key: key))
    }

    private static func certificate(
        _ holder: Holder, _ certificates: IssuedCertificates, key: Holder? = nil
    ) throws -> TLSClientCertificate {
        let moment = Timestamp(secondsSinceEpoch: 0)
        return try #require(
            TLSClientCertificate(
                chain: Array(try certificates.text(certificates.certificate(holder)).utf8),
                privateKey: Secret(try certificates.text(certificates.key(key ?? holder))), subject: "",
                validity: moment...moment, isSelfIssued: false))
    }

    /// The client, the peer and what they need, with a peer that asks for a certificate.
    private static func with(
        required: Bool = false, newestVersion: String = "TLSv1_3",
        through proxy: String? = nil,
        _ body: (OutboundHTTPClient, TLSPeer, IssuedCertificates) async throws -> Void
    ) async throws {
        let certificates = try await IssuedCertificates.make()
        let peer = try await TLSPeer(
            certificate: certificates.certificate(.server), key: certificates.key(.server),
            newestVersion: newestVersion, clientAuthority: certificates.authority,
            requiresClientCertificate: required)
        defer { peer.stop() }
        try await withClient {
            $0.caBundle = certificates.authority
            $0.proxy = proxy
        } _: { client in
            try await body(client, peer, certificates)
        }
    }

    /// The name in the certificate that the peer got, and the port that the connection came from.
    private static func seen(
        _ client: OutboundHTTPClient, _ peer: TLSPeer, _ clientTLS: ClientTLS?
    ) async throws -> (name: String, port: String) {
        var request = try OutboundRequest.post(peer.url("localhost", "/certificate"))
        request.clientTLS = clientTLS
        let response = try await client.send(request)
        let parts = String(decoding: response.body, as: UTF8.self).split(separator: " ").map(String.init)
        try #require(parts.count == 2)
        return (parts[0], parts[1])
    }

    @Test(
        "A connection that presented a certificate carries no request without it or with another one",
        arguments: ["TLSv1_2", "TLSv1_3"])
    func connections(version: String) async throws {
        try await Self.with(newestVersion: version) { client, peer, certificates in
            let (one, two) = (try Self.clientTLS(.one, certificates), try Self.clientTLS(.two, certificates))
            let steps: [(ClientTLS?, String)] = [
                (one, "one"), (nil, "-"), (two, "two"), (one, "one"), (nil, "-"), (two, "two"),
            ]
            var ports: [String: String] = [:]
            for (clientTLS, name) in steps {
                let seen = try await Self.seen(client, peer, clientTLS)
                #expect(seen.name == name)
                // The connection of the same identity is used again.
                #expect(ports[name] ?? seen.port == seen.port)
                ports[name] = seen.port
            }
            #expect(Set(ports.values).count == 3)
        }
    }

    @Test("A replaced certificate is presented from then on, by new connections")
    func replaced() async throws {
        try await Self.with { client, peer, certificates in
            let clientTLS = try Self.clientTLS(.one, certificates)
            #expect(try await Self.seen(client, peer, clientTLS).name == "one")
            clientTLS.replace(with: try Self.certificate(.two, certificates))
            #expect(try await Self.seen(client, peer, clientTLS).name == "two")
        }
    }

    @Test(
        "A server that demands another certificate, or any, refuses the connection, and the error says so",
        arguments: [(Holder?.none, "certificate"), (.expired, "certificate"), (.selfSigned, "alert")])
    func refused(holder: Holder?, says: String) async throws {
        try await Self.with(required: true) { client, peer, certificates in
            var request = try OutboundRequest.post(peer.url())
            request.clientTLS = try holder.map { try Self.clientTLS($0, certificates) }
            let error = await client.failure(request)
            #expect(error?.code == (holder == nil ? .closed : .tls), "\(error?.reason ?? "answered")")
            #expect(holder == nil || error?.reason.contains(says) == true, "\(error?.reason ?? "")")
        }
    }

    @Test("A certificate with another key, or for plain http, sends nothing")
    func unusable() async throws {
        try await Self.with { client, peer, certificates in
            var request = try OutboundRequest.post(peer.url())
            request.clientTLS = try Self.clientTLS(.one, certificates, key: .two)
            let mismatch = await client.failure(request)
            #expect(mismatch?.code == .tls && mismatch?.mayHaveBeenSent == false)
            #expect(mismatch?.reason.contains("does not belong") == true, "\(mismatch?.reason ?? "")")
            var plain = try OutboundRequest.post("http://127.0.0.1:\(peer.port)/")
            plain.clientTLS = try Self.clientTLS(.one, certificates)
            let unencrypted = await client.failure(plain)
            #expect(unencrypted?.code == .tls && unencrypted?.mayHaveBeenSent == false)
            #expect(unencrypted?.reason.contains("plain http") == true)
        }
    }

    @Test("Through the tunnel of a proxy the certificate reaches the server")
    func tunnel() async throws {
        let proxy = try await TunnelProxy(authorization: "Basic dXNlcjpwOnNzIHdvcmQ=")
        defer { proxy.stop() }
        let url = "http://user:p%3Ass%20word@127.0.0.1:\(proxy.port)/"
        try await Self.with(through: url) { client, peer, certificates in
            let clientTLS = try Self.clientTLS(.one, certificates)
            #expect(try await Self.seen(client, peer, clientTLS).name == "one")
            #expect(try await Self.seen(client, peer, nil).name == "-")
        }
    }
}
