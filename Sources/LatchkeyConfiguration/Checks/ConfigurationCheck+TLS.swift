internal import HTTPServer
internal import OpenIDConnect
internal import Primitives
internal import SignIn

extension ConfigurationCheck {
    mutating func refuseUnusableTLS(at now: Timestamp = WallClock.system.now()) {
        let tls = configuration.tls
        refuse(
            if: tls.certificateFile != nil && tls.privateKeyFile == nil, "tls.private_key_file",
            "is missing, but tls.certificate_file is set", "name the key's file")
        refuse(
            if: tls.privateKeyFile != nil && tls.certificateFile == nil, "tls.certificate_file",
            "is missing, but tls.private_key_file is set", "name the certificate's file")
        refuse(
            if: tls.clients != .none && tls.clientAuthoritiesFile == nil, "tls.client_ca_file",
            "is missing, but tls.client_certificates is \(tls.clients.rawValue)",
            "name a file of the certificate authorities for client certificates")
        if tls.redirectPort != nil {
            if !tls.isOn { refuse("tls.redirect_port", "there is no HTTPS to redirect to", "set tls.certificate_file") }
            refuse(
                if: configuration.publicURL?.scheme != .https, "tls.redirect_port",
                "public_url is not https, so there is no URL to redirect to", "set public_url")
        }
        guard tls.isOn, tls.clients == .none || tls.clientAuthoritiesFile != nil else { return }
        examine(tls, at: now)
    }

    private mutating func examine(_ tls: Configuration.TLS, at now: Timestamp) {
        do throws(ConfigurationProblem) {
            warnOfDates(try ServerTLS(tls, context.files).validity, at: now)
        } catch {
            refuse(error.key, error.reason, error.remedy)
        }
        guard let path = tls.privateKeyFile,
            let key = try? context.files.contents(of: path, limit: 1 << 20), key.isReadableByAll
        else { return }
        warn(
            "tls.private_key_file", "every user of this machine can read the file", "remove the permission (chmod o-r)")
    }

    /// Only a warning: with an expired certificate, the server can still serve the clients that accept it.
    private mutating func warnOfDates(_ validity: ClosedRange<Timestamp>, at now: Timestamp) {
        if now > validity.upperBound {
            warn(
                "tls.certificate_file", "the certificate expired on \(UTCTime.text(validity.upperBound))",
                "renew it: clients refuse it")
        } else if now < validity.lowerBound {
            warn(
                "tls.certificate_file",
                "the certificate is not valid before \(UTCTime.text(validity.lowerBound))",
                "check this machine's clock: clients refuse the certificate until then")
        }
    }

    mutating func warnOfTLSWithoutEffect() {
        let tls = configuration.tls
        let set = ["tls.host", "tls.port", "tls.client_ca_file", "tls.client_certificates"].first { origins[$0] != nil }
        if !tls.isOn, tls.certificateFile == nil, tls.privateKeyFile == nil, let set {
            warn(set, "has no effect without tls.certificate_file", "set it and tls.private_key_file")
        } else if tls.clientAuthoritiesFile != nil, tls.clients == .none {
            warn(
                "tls.client_ca_file", "has no effect while tls.client_certificates is none",
                "set tls.client_certificates to optional or required")
        }
    }

    /// The certificates of clients (RFC 8705).
    mutating func refuseUnusableMutualTLS() {
        for provider in configuration.allProviders {
            let (name, setting) = (provider.keys.settings, provider.extensions.mutualTLS)
            if setting == .always, let client = provider.clients.first(where: { $0.clientTLS == nil }) {
                refuse(
                    name + ".mtls", "is always, but the client \(client.id.text) has no certificate_file",
                    "give the client a certificate_file and a certificate_key_file, or make it auto")
            }
            if setting == .never, let client = provider.clients.first(where: { $0.authentication.method.usesMutualTLS })
            {
                refuse(
                    name + ".mtls", "is never, but the client \(client.id.text) authenticates with its certificate",
                    "make it auto, or give the client another way to authenticate")
            }
        }
    }

    /// How long before the end of a certificate a warning begins, in seconds.
    private static let warningTime: Int64 = 30 * 86_400

    /// Only warnings: an expired certificate keeps its own users from signing in, and no others.
    mutating func warnOfClientCertificates(at now: Timestamp = WallClock.system.now()) {
        for provider in configuration.allProviders {
            let (name, key) = provider.keys
            for client in provider.clients {
                guard let certificate = client.clientTLS?.certificate else { continue }
                warn(
                    if: provider.extensions.mutualTLS == .never, key,
                    "the certificate_file of the client \(client.id.text) has no effect while \(name).mtls is never",
                    "remove it, or make mtls auto")
                guard let fault = Self.fault(of: certificate.validity, at: now) else { continue }
                warn(key, "the certificate of the client \(client.id.text) \(fault.reason)", fault.remedy)
            }
            if let signer = provider.mobileOperator?.credentials?.signer,
                let fault = Self.fault(of: signer.certificate.validity, at: now)
            {
                warn(
                    key, "the certificate of digital_credential of \(provider.id) \(fault.reason)",
                    "get a new one, and restart the server: phones refuse requests with an expired one")
            }
        }
    }

    private static func fault(
        of validity: ClosedRange<Timestamp>, at now: Timestamp
    ) -> (reason: String, remedy: String)? {
        let end = UTCTime.text(validity.upperBound)
        let renewal = "get a new one, register it with the provider, and send the server SIGHUP"
        if now > validity.upperBound { return ("expired on \(end)", renewal + ": the provider refuses it") }
        if now < validity.lowerBound {
            return (
                "is not valid before \(UTCTime.text(validity.lowerBound))",
                "check this machine's clock: the provider refuses it until then"
            )
        }
        return now.advanced(bySeconds: warningTime) > validity.upperBound ? ("expires on \(end)", renewal) : nil
    }
}
