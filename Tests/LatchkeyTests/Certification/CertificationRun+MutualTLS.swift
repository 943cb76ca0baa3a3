import CarrierSimulator
import Primitives
import Testing

// Sign-ins at endpoints that ask for a TLS certificate (RFC 8705).
extension CertificationRun {
    /// Signs in at a provider whose metadata has no aliases: its usual endpoints take the client's certificate.
    static let signInWithoutAliases: CertificationModule.Steps = { run in
        let certified = run.harness.certified(run.provider)
        let hasCertificate = run.plan.client.holder != nil
        run.simulator.update(run.provider) { provider in
            provider.tampering.objects[.discovery, default: []].append { metadata in
                metadata["mtls_endpoint_aliases"] = nil
                guard hasCertificate else { return }
                metadata["token_endpoint"] = .string(certified + "/token")
                metadata["userinfo_endpoint"] = .string(certified + "/userinfo")
                metadata["pushed_authorization_request_endpoint"] = .string(certified + "/par")
            }
        }
        let observation = try await signIn(run)
        run.expectRequests(at: "127.0.0.1")
        return observation
    }

    static let signInAtAliases: CertificationModule.Steps = { run in
        let observation = try await signIn(run)
        run.expectRequests(at: "localhost")
        return observation
    }

    /// The requests of the client came to this host, with its certificate if it has one.
    private func expectRequests(at host: String) {
        for endpoint in [Endpoint.pushedAuthorization, .token, .userInfo] where count(endpoint) > 0 {
            let entry = last(endpoint)
            #expect(entry?.host?.hasPrefix(host + ":") == true, "\(endpoint)")
            #expect((entry?.certificate != nil) == (plan.client.holder != nil), "\(endpoint)")
        }
    }
}
