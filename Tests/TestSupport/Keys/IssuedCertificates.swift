import Foundation

/// Certificates that an authority of the test has issued with openssl, in a directory of their own.
public struct IssuedCertificates: Sendable {
    /// The holder of a certificate. Each has a key of its own.
    public enum Holder: String, Sendable, CaseIterable {
        /// A server on localhost and 127.0.0.1.
        case server
        /// The same, with a certificate that has expired.
        case expiredServer
        /// A server on other.example.
        case otherServer
        /// A server on `*.wide.example` and `par*.part.example`.
        case wildcardServer
        /// A server whose subject's common name is `localhost`, and whose certificate has no subjectAltName.
        case commonNameServer
        /// A client, whose subject is `CN=one`.
        case one
        /// Another client of the same authority.
        case two
        /// The first client, with a certificate that has expired.
        case expired
        /// A client, or a server on 127.0.0.1, whose certificate no authority has issued.
        case selfSigned

        /// The subject, and what else a request for the certificate says.
        fileprivate var request: String {
            switch self {
            case .server, .expiredServer: "/CN=server -addext subjectAltName=IP:127.0.0.1,DNS:localhost"
            case .otherServer: "/CN=server -addext subjectAltName=DNS:other.example"
            case .wildcardServer:
                "/CN=server -addext subjectAltName=DNS:*.wide.example,DNS:par*.part.example,DNS:127.0.0.1"
            case .commonNameServer: "/CN=localhost"
            case .one, .expired: "/CN=one"
            case .two: "/CN=two"
            case .selfSigned: "/CN=self -addext subjectAltName=IP:127.0.0.1"
            }
        }

        fileprivate var hasExpired: Bool { self == .expired || self == .expiredServer }
    }

    /// The type of the holders' keys.
    public enum KeyType: Sendable {
        case p256, rsa
    }

    /// A server, and the clients.
    public static let serverAndClients: [Holder] = [.server, .one, .two, .expired, .selfSigned]

    private let directory: TemporaryDirectory
    /// Whose certificates there are.
    public let holders: [Holder]

    /// What a server and its clients trust.
    public var authority: String { directory.file("authority.pem") }

    /// The path of a holder's certificate.
    public func certificate(_ holder: Holder) -> String { directory.file("\(holder.rawValue).pem") }

    /// The path of a holder's key.
    public func key(_ holder: Holder) -> String { directory.file("\(holder.rawValue).key") }

    /// The content of one of these files.
    public func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// The SHA-256 of a holder's certificate, in hexadecimal digits.
    public func fingerprint(of holder: Holder) async throws -> String {
        let ending = try await Program.run(
            "openssl", ["x509", "-in", certificate(holder), "-noout", "-fingerprint", "-sha256"], in: directory.path)
        guard ending.status == 0, let digits = ending.output.split(separator: "=").last else {
            throw Failed(output: ending.output)
        }
        return digits.trimmingCharacters(in: .whitespacesAndNewlines).replacing(":", with: "").lowercased()
    }

    /// Makes a key and a certificate for each holder.
    public static func make(
        _ holders: [Holder] = serverAndClients, keyType: KeyType = .p256
    ) async throws -> IssuedCertificates {
        let made = IssuedCertificates(
            directory: try TemporaryDirectory(files: ["authority.cnf": configuration, "index.txt": ""]),
            holders: holders)
        let p256 = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        try await made.openssl(
            "req -x509 \(p256) -subj /CN=Authority -days 100 -keyout authority.key -out authority.pem")
        for holder in holders {
            try await made.issue(holder, newKey: keyType == .p256 ? p256 : "-newkey rsa:2048 -nodes")
        }
        return made
    }

    private func issue(_ holder: Holder, newKey: String) async throws {
        let name = holder.rawValue
        let request = "\(newKey) -subj \(holder.request) -keyout \(name).key"
        guard holder != .selfSigned else {
            return try await openssl("req -x509 \(request) -days 100 -out \(name).pem")
        }
        try await openssl("req -new \(request) -out request.csr")
        let dates = holder.hasExpired ? "-startdate 20200101000000Z -enddate 20200201000000Z" : "-days 100"
        try await openssl(
            "ca -batch -config authority.cnf -cert authority.pem -keyfile authority.key \(dates) -notext"
                + " -in request.csr -out \(name).pem")
    }

    private func openssl(_ arguments: String) async throws {
        let ending = try await Program.run(
            "openssl", arguments.split(separator: " ").map(String.init), in: directory.path)
        guard ending.status == 0 else { throw Failed(output: ending.output) }
    }

    private struct Failed: Error {
        let output: String
    }

    private static let configuration = """
        [ca]
        default_ca = test
        [test]
        database = index.txt
        new_certs_dir = .
        rand_serial = yes
        default_md = sha256
        policy = any
        copy_extensions = copy
        unique_subject = no
        [any]
        commonName = supplied
        """
}
