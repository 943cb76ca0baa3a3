internal import OpenIDConnect
internal import Primitives
internal import SignIn

// The certificates of clients (RFC 8705).
extension ConfigurationCheck {
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
                if provider.extensions.mutualTLS == .never {
                    warn(
                        key,
                        "the certificate_file of the client \(client.id.text) has no effect while \(name).mtls is "
                            + "never", "remove it, or make mtls auto")
                }
                guard let fault = Self.fault(of: certificate.validity, at: now) else { continue }
                warn(key, "the certificate of the client \(client.id.text) \(fault.reason)", fault.remedy)
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
