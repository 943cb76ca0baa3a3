import LatchkeyConfiguration
import OpenIDConnect
import SignIn

// Mutual TLS with a provider, and the certificates of its clients.
extension Doctor {
    func mutualTLS(
        of provider: ProviderMetadata, _ subject: String, _ setting: FeatureUse,
        _ clients: [Configuration.Client], _ profile: SecurityProfile?, key: String
    ) -> [Finding] {
        if setting == .always, !provider.demands.certificateBoundTokens {
            return [
                .problem(
                    .metadata, subject,
                    "mtls is always, and the metadata does not have tls_client_certificate_bound_access_tokens: "
                        + "sign-ins fail",
                    fix: profile == nil
                        ? "set mtls of \(key) to auto, or tell the provider"
                        : "tell the provider, or bind tokens by DPoP: remove mtls of \(key)")
            ]
        }
        let presenting = clients.filter { $0.credentials.clientTLS(at: provider, setting) != nil }
        var findings = presenting.compactMap { certificate(of: $0, subject) }
        if provider.demands.certificateBoundTokens {
            findings.append(
                presenting.isEmpty
                    ? .ok(
                        .metadata, subject,
                        "the provider can bind access tokens to a TLS certificate of the client "
                            + "(tls_client_certificate_bound_access_tokens), and Latchkey presents none: the client "
                            + "must be registered without")
                    : .ok(
                        .metadata, subject,
                        "the clients' TLS certificates are presented, so that access tokens can be bound to them"))
        }
        return findings
    }

    private func certificate(of client: Configuration.Client, _ subject: String) -> Finding? {
        guard let validity = client.clientTLS?.certificate.validity else { return nil }
        let name = "\(subject), client \(client.id.text)"
        let fix = "get a new certificate, register it with the provider, and send the server SIGHUP"
        return finding(validity, name, fix: fix)
    }
}
