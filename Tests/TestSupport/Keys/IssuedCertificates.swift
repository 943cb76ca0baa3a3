import Foundation

/// Certificates that an authority of the test has issued with openssl, in a directory of their own.
public struct IssuedCertificates: Sendable {
    /// The holder of a certificate.
    public enum Holder: String, Sendable, CaseIterable {
        /// A server on localhost and 127.0.0.1.
        case server
        /// A client, whose subject is `CN=one`.
        case one
        /// Another client of the same authority.
        case two
        /// The first client, with a certificate that has expired.
        case expired
        /// A client whose certificate no authority has issued.
        case selfSigned
    }

    private let directory: TemporaryDirectory

    /// What a server and its clients trust.
    public var authority: String { directory.file("authority.pem") }

    /// The path of a holder's certificate.
    public func certificate(_ holder: Holder) -> String { directory.file("\(holder.rawValue).pem") }

    /// The path of a holder's key.
    public func key(_ holder: Holder) -> String { directory.file("\(holder.rawValue).key") }

    /// The content of one of these files.
    public func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// Makes a key and a certificate for each holder.
    public static func make() async throws -> IssuedCertificates {
        let made = IssuedCertificates(
            directory: try TemporaryDirectory(files: ["authority.cnf": configuration, "index.txt": ""]))
        let new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        try await made.openssl(
            "req -x509 \(new) -subj /CN=Authority -days 100 -keyout authority.key -out authority.pem")
        try await made.openssl("req -x509 \(new) -subj /CN=self -days 100 -keyout selfSigned.key -out selfSigned.pem")
        for holder in Holder.allCases where holder != .selfSigned {
            let name = holder == .expired ? Holder.one.rawValue : holder.rawValue
            let names = holder == .server ? " -addext subjectAltName=IP:127.0.0.1,DNS:localhost" : ""
            let dates =
                holder == .expired ? "-startdate 20200101000000Z -enddate 20200201000000Z" : "-days 100"
            try await made.openssl(
                "req -new \(new) -subj /CN=\(name)\(names) -keyout \(holder.rawValue).key -out request.csr")
            try await made.openssl(
                "ca -batch -config authority.cnf -cert authority.pem -keyfile authority.key \(dates) -notext"
                    + " -in request.csr -out \(holder.rawValue).pem")
        }
        return made
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
