internal import HTTPServer
internal import OpenIDConnect
internal import Primitives

extension ConfigurationCheck {
    mutating func refuseUnusableTLS(at now: Timestamp = WallClock.system.now()) {
        let tls = configuration.tls
        if tls.certificateFile != nil, tls.privateKeyFile == nil {
            refuse("tls.private_key_file", "is missing, but tls.certificate_file is set", "name the key's file")
        }
        if tls.privateKeyFile != nil, tls.certificateFile == nil {
            refuse("tls.certificate_file", "is missing, but tls.private_key_file is set", "name the certificate's file")
        }
        if tls.clients != .none, tls.clientAuthoritiesFile == nil {
            refuse(
                "tls.client_ca_file", "is missing, but tls.client_certificates is \(tls.clients.rawValue)",
                "name a file of the certificate authorities for client certificates")
        }
        if tls.redirectPort != nil {
            if !tls.isOn { refuse("tls.redirect_port", "there is no HTTPS to redirect to", "set tls.certificate_file") }
            if configuration.publicURL?.scheme != .https {
                refuse(
                    "tls.redirect_port", "public_url is not https, so there is no URL to redirect to", "set public_url")
            }
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
}
