internal import HTTPCore
public import HTTPServer
internal import Primitives

extension Configuration {
    /// HTTPS, beside plain HTTP; off unless there is a certificate.
    public struct TLS: Sendable, Hashable {
        /// Names or addresses to bind; if empty, ``HTTP/hosts``.
        public var hosts: [String] = []
        /// 0 lets the system choose.
        public var port: UInt16 = 8443
        /// A PEM file of the server's certificate, followed by its intermediate certificates.
        public var certificateFile: String?
        /// A PEM file of the certificate's private key.
        public var privateKeyFile: String?
        /// A PEM file of the certificate authorities for client certificates.
        public var clientAuthoritiesFile: String?
        /// Whether clients need a certificate.
        public var clients = TLSCredentials.Clients.none
        /// A port where plain HTTP is redirected to HTTPS; nil for none.
        public var redirectPort: UInt16?

        public init() {}

        /// Whether HTTPS is served.
        public var isOn: Bool { certificateFile != nil && privateKeyFile != nil }
    }
}

extension Configuration.TLS {
    package var files: [(key: String, path: String)] {
        [
            ("tls.certificate_file", certificateFile), ("tls.private_key_file", privateKeyFile),
            ("tls.client_ca_file", clients == .none ? nil : clientAuthoritiesFile),
        ].compactMap { key, path in path.map { (key, $0) } }
    }

    func credentials(_ files: FileReader) throws(ConfigurationProblem) -> TLSCredentials {
        let chain = try Self.read("tls.certificate_file", certificateFile, files)
        let key = try Self.read("tls.private_key_file", privateKeyFile, files)
        guard let text = String(validating: key, as: UTF8.self) else {
            throw ConfigurationProblem(
                key: "tls.private_key_file", reason: "the file is not text", remedy: "name a PEM file")
        }
        let authorities = clients == .none ? [] : try Self.read("tls.client_ca_file", clientAuthoritiesFile, files)
        return TLSCredentials(
            certificateChain: chain, privateKey: Secret(text), clients: clients, clientAuthorities: authorities)
    }

    private static func read(_ key: String, _ path: String?, _ files: FileReader) throws(ConfigurationProblem)
        -> [UInt8]
    {
        guard let path else { throw ConfigurationProblem(key: key, reason: "is not set", remedy: "name the file") }
        return try mappingErrors(try files.contents(of: path, limit: 1 << 20).bytes) { (error: FileReader.ReadError) in
            ConfigurationProblem(
                key: key, reason: "the file \(error.reason)", remedy: "name a PEM file that the server's user can read")
        }
    }
}

extension ServerTLS {
    /// Reads the files that a configuration names.
    package convenience init(_ settings: Configuration.TLS, _ files: FileReader) throws(ConfigurationProblem) {
        let credentials = try settings.credentials(files)
        do throws(TLSError) {
            try self.init(credentials)
        } catch {
            let key =
                switch error.code {
                case .noMemory, .certificateUnreadable, .certificateRefused: "tls.certificate_file"
                case .keyUnreadable, .keyEncrypted, .keyMismatch: "tls.private_key_file"
                case .authoritiesUnreadable: "tls.client_ca_file"
                }
            throw ConfigurationProblem(key: key, reason: "the file \(error)", remedy: error.remedy)
        }
    }
}
