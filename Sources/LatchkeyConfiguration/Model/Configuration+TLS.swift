public import HTTPServer
internal import Primitives

extension Configuration {
    /// HTTPS, beside plain HTTP; off unless there is a certificate.
    public struct TLS: Sendable, Hashable {
        /// Names or addresses to bind; without any, those of ``HTTP/hosts``.
        public var hosts: [String] = []
        /// 0 lets the system choose.
        public var port: UInt16 = 8443
        /// A file with the server's certificate in PEM, and those that lead to its authority.
        public var certificateFile: String?
        public var privateKeyFile: String?
        /// A file with the authorities of clients' certificates.
        public var clientAuthoritiesFile: String?
        public var clients = TLSCredentials.Clients.none
        /// Where plain HTTP is answered with the way to HTTPS; nil for nowhere.
        public var redirectPort: UInt16?
        public var handshakeTimeout = Duration.seconds(10)
        public var handshakes = 1024

        public init() {}

        public var isOn: Bool { certificateFile != nil && privateKeyFile != nil }
    }
}

/// What is wrong with a file of TLS.
public struct TLSFileProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The setting that names the file.
    public let key: String
    public let reason: String
    public let remedy: String

    public init(key: String, reason: String, remedy: String) {
        self.key = key
        self.reason = reason
        self.remedy = remedy
    }

    public var description: String { "\(key): \(reason); \(remedy)" }
}

extension Configuration.TLS {
    private static let maximumBytes = 1 << 20

    /// The settings that name files, and the files.
    public var files: [(key: String, path: String)] {
        [
            ("tls.certificate_file", certificateFile), ("tls.private_key_file", privateKeyFile),
            ("tls.client_ca_file", clients == .none ? nil : clientAuthoritiesFile),
        ].compactMap { key, path in path.map { (key, $0) } }
    }

    /// Reads the files.
    func credentials(_ files: FileReader) throws(TLSFileProblem) -> TLSCredentials {
        let chain = try Self.read("tls.certificate_file", certificateFile, files)
        let key = try Self.read("tls.private_key_file", privateKeyFile, files)
        guard let text = String(validating: key.bytes, as: UTF8.self) else {
            throw TLSFileProblem(
                key: "tls.private_key_file", reason: "the file is no text", remedy: "name a PEM file")
        }
        let authorities =
            clients == .none ? [] : try Self.read("tls.client_ca_file", clientAuthoritiesFile, files).bytes
        return TLSCredentials(
            certificateChain: chain.bytes, privateKey: Secret(text), clients: clients, clientAuthorities: authorities)
    }

    private static func read(
        _ key: String, _ path: String?, _ files: FileReader
    ) throws(TLSFileProblem) -> FileReader.Contents {
        guard let path else { throw TLSFileProblem(key: key, reason: "is not set", remedy: "name the file") }
        do throws(FileReader.Failure) {
            return try files.contents(of: path, limit: maximumBytes)
        } catch {
            throw TLSFileProblem(
                key: key, reason: "the file \(error.reason)",
                remedy: "name a PEM file that the server's user may read")
        }
    }
}

extension ServerTLS {
    /// Made of what the files of a configuration hold.
    public convenience init(_ settings: Configuration.TLS, _ files: FileReader) throws(TLSFileProblem) {
        let credentials = try settings.credentials(files)
        do throws(TLSError) {
            try self.init(credentials)
        } catch {
            throw TLSFileProblem(error)
        }
    }
}

extension TLSFileProblem {
    fileprivate init(_ error: TLSError) {
        let key =
            switch error.code {
            case .noMemory, .certificateUnreadable, .certificateRefused: "tls.certificate_file"
            case .keyUnreadable, .keyEncrypted, .keyMismatch: "tls.private_key_file"
            case .authoritiesUnreadable: "tls.client_ca_file"
            }
        self.init(key: key, reason: "the file \(error)", remedy: error.remedy)
    }
}
