import Foundation
import Primitives
import TestSupport
import Testing

@testable import OutboundHTTP

/// Where an authority of the system can be.
struct SystemAuthoritiesTests {
    /// The places that a server's authority is in.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// Whether the directory has another authority under the hash of its subject.
        var hasOther = true
        var isInDirectory = false
        var isInBundle = false
        var bundleExists = true
        var isTrusted = true
        var testDescription: String { name }
    }

    private static let rows: [Row] = [
        Row(name: "the directory", isInDirectory: true),
        Row(name: "the directory, without a bundle", isInDirectory: true, bundleExists: false),
        Row(name: "the bundle, beside a directory with another one", isInBundle: true),
        Row(name: "the bundle, beside an empty directory", hasOther: false, isInBundle: true),
        Row(name: "both", isInDirectory: true, isInBundle: true),
        Row(name: "neither", isTrusted: false),
        Row(name: "neither, without a bundle", bundleExists: false, isTrusted: false),
    ]

    @Test("An authority is trusted in the system's directory and in its bundle, again and again", arguments: rows)
    func places(row: Row) async throws {
        let certificates = try await IssuedCertificates.make([.server, .selfSigned])
        let (peer, own, other) = try await Self.peer(certificates)
        defer { peer.stop() }
        let places = try TemporaryDirectory(files: ["certs/README": "no certificate"])
        if row.hasOther {
            try places.write(other, as: "certs/\(try await Self.hash(certificates.certificate(.selfSigned))).0")
        }
        if row.isInDirectory { try places.write(own, as: "certs/\(try await Self.hash(certificates.authority)).0") }
        if row.bundleExists { try places.write(other + (row.isInBundle ? own : ""), as: "bundle.pem") }
        try await withClient {
            $0.systemAuthorities = .init(directory: places.file("certs"), bundle: places.file("bundle.pem"))
            // Each request has a handshake of its own.
            $0.maximumIdleConnections = 0
        } _: { client in
            for _ in 0..<3 {
                let error = await client.failure(try .post(peer.url()))
                #expect(error?.code == (row.isTrusted ? nil : .tls), "\(error?.reason ?? "answered")")
                #expect(error?.mayHaveBeenSent != true)
            }
        }
    }

    @Test(
        "Additional authorities are trusted besides the system's, or besides those that replace the system's",
        arguments: [(false, false), (false, true), (true, false), (true, true)])
    func additional(isReplaced: Bool, isAdded: Bool) async throws {
        let certificates = try await IssuedCertificates.make([.server, .selfSigned])
        let peers = [
            try await TLSPeer(
                certificate: certificates.certificate(.server), key: certificates.key(.server),
                newestVersion: "TLSv1_3"),
            try await TLSPeer(
                certificate: certificates.certificate(.selfSigned), key: certificates.key(.selfSigned),
                newestVersion: "TLSv1_3"),
        ]
        defer { for peer in peers { peer.stop() } }
        let own = try String(contentsOfFile: certificates.authority, encoding: .utf8)
        let places = try TemporaryDirectory(files: ["certs/README": "no certificate", "bundle.pem": own])
        try await withClient {
            if isReplaced { $0.caBundle = certificates.authority }
            if isAdded { $0.additionalCABundle = certificates.certificate(.selfSigned) }
            $0.systemAuthorities = .init(directory: places.file("certs"), bundle: places.file("bundle.pem"))
        } _: { client in
            let (known, added) = (
                await client.failure(try .post(peers[0].url())), await client.failure(try .post(peers[1].url()))
            )
            #expect(known == nil, "\(known?.reason ?? "")")
            #expect(added?.code == (isAdded ? nil : .tls), "\(added?.reason ?? "answered")")
        }
    }

    @Test("A bundle that cannot be opened when it is needed is read the next time")
    func late() async throws {
        let certificates = try await IssuedCertificates.make([.server, .selfSigned])
        let (peer, own, other) = try await Self.peer(certificates)
        defer { peer.stop() }
        let name = try await Self.hash(certificates.certificate(.selfSigned))
        let places = try TemporaryDirectory(files: ["certs/\(name).0": other, "bundle.pem": own])
        try await withClient {
            $0.systemAuthorities = .init(directory: places.file("certs"), bundle: places.file("bundle.pem"))
        } _: { client in
            try FileManager.default.removeItem(atPath: places.file("bundle.pem"))
            #expect(await client.failure(try .post(peer.url()))?.code == .tls)
            try places.write(own, as: "bundle.pem")
            #expect(try await client.send(.post(peer.url())).status == 200)
        }
    }

    @Test("While a bundle is read, the loop serves other exchanges")
    func blocked() async throws {
        let certificates = try await IssuedCertificates.make([.server, .selfSigned])
        let (peer, own, other) = try await Self.peer(certificates)
        defer { peer.stop() }
        let name = try await Self.hash(certificates.certificate(.selfSigned))
        let places = try TemporaryDirectory(files: ["certs/\(name).0": other])
        // Reading a pipe waits until somebody writes.
        let bundle = places.file("bundle.pem")
        try #require(mkfifo(bundle, 0o600) == 0)
        try await withPeer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        } _: { plain in
            try await withClient {
                $0.systemAuthorities = .init(directory: places.file("certs"), bundle: bundle)
            } _: { client in
                async let first = client.send(.post(peer.url()))
                // Opening the pipe for writing waits until it is opened for reading.
                let pipe = await withCheckedContinuation { opened in
                    Thread.detachNewThread { opened.resume(returning: open(bundle, O_WRONLY)) }
                }
                #expect(try await client.send(.get(plain.url())).status == 200)
                let file = FileHandle(fileDescriptor: pipe, closeOnDealloc: true)
                try file.write(contentsOf: Data(own.utf8))
                try file.close()
                #expect(try await first.status == 200)
            }
        }
    }

    /// A peer, its authority's certificate, and that of another authority.
    private static func peer(
        _ certificates: IssuedCertificates
    ) async throws -> (peer: TLSPeer, own: String, other: String) {
        let peer = try await TLSPeer(
            certificate: certificates.certificate(.server), key: certificates.key(.server), newestVersion: "TLSv1_3")
        let own = try String(contentsOfFile: certificates.authority, encoding: .utf8)
        return (peer, own, try String(contentsOfFile: certificates.certificate(.selfSigned), encoding: .utf8))
    }

    /// What OpenSSL looks a certificate up by.
    private static func hash(_ certificate: String) async throws -> String {
        let output = try await Tool.run("openssl", ["x509", "-hash", "-noout", "-in", certificate])
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
