import Foundation

/// An authority of our own and certificates it signed, made with openssl in a directory of their own.
struct TestCertificates {
    enum Kind: String, CaseIterable {
        case valid, otherHost, expired
        /// For `*.wide.example` and `par*.part.example`.
        case wildcards
        /// `localhost` is its subject's common name, and it has no subjectAltName.
        case nameInSubject
    }

    let directory: URL
    /// What to trust.
    var authority: String { directory.appendingPathComponent("authority.pem").path }
    var key: String { directory.appendingPathComponent("key.pem").path }

    func certificate(_ kind: Kind) -> String { directory.appendingPathComponent("\(kind.rawValue).pem").path }

    /// The peer's key.
    enum KeyKind {
        case p256, rsa
    }

    static func make(keyKind: KeyKind = .p256) async throws -> TestCertificates {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let made = TestCertificates(directory: directory)
        try Data(configuration.utf8).write(to: directory.appendingPathComponent("ca.cnf"))
        try Data().write(to: directory.appendingPathComponent("index.txt"))
        try await made.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=Test -days 2"
                + " -keyout authority.key -out authority.pem")
        switch keyKind {
        case .p256: try await made.openssl("ecparam -genkey -name prime256v1 -noout -out key.pem")
        case .rsa: try await made.openssl("genrsa -out key.pem 2048")
        }
        for kind in Kind.allCases { try await made.sign(kind) }
        return made
    }

    /// A configuration of OpenSSL that allows what is long out of use; its path.
    func writeLenientConfiguration() throws -> String {
        let text = """
            openssl_conf = lenient
            [lenient]
            ssl_conf = modules
            [modules]
            system_default = defaults
            [defaults]
            MinProtocol = TLSv1
            CipherString = ALL:@SECLEVEL=0
            """
        let file = directory.appendingPathComponent("lenient.cnf")
        try Data(text.utf8).write(to: file)
        return file.path
    }

    func remove() { try? FileManager.default.removeItem(at: directory) }

    private func sign(_ kind: Kind) async throws {
        let names =
            switch kind {
            case .otherHost: "/CN=peer -addext subjectAltName=DNS:other.example"
            case .wildcards: "/CN=peer -addext subjectAltName=DNS:*.wide.example,DNS:par*.part.example,DNS:127.0.0.1"
            case .nameInSubject: "/CN=localhost"
            case .valid, .expired: "/CN=peer -addext subjectAltName=IP:127.0.0.1,DNS:localhost"
            }
        let dates = kind == .expired ? "-startdate 20200101000000Z -enddate 20200201000000Z" : "-days 2"
        try await openssl("req -new -key key.pem -subj \(names) -out request.csr")
        try await openssl(
            "ca -batch -config ca.cnf -cert authority.pem -keyfile authority.key \(dates) -notext -in request.csr"
                + " -out \(kind.rawValue).pem")
    }

    private func openssl(_ arguments: String) async throws {
        _ = try await Tool.run("openssl", arguments.split(separator: " ").map(String.init), in: directory)
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
