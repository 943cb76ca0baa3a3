import LatchkeyConfiguration
import OpenIDConnect
import SignIn

// What a provider demands of sign-ins by redirects, compared with what Latchkey does: a demand that is not met fails at
// the provider, with the first user.
extension Doctor {
    /// - Parameters:
    ///   - configured: The relying party's settings for the provider.
    ///   - clients: Those that are registered with the provider.
    ///   - responseMode: As configured.
    ///   - requiresIssuer: As configured.
    ///   - profile: As configured: it refuses what contradicts it.
    ///   - needsBrowsers: Whether users sign in by redirects only, as configured.
    ///   - key: Where the provider's settings are.
    func examineDemands(
        of provider: ProviderMetadata, _ subject: String, _ configured: RelyingParty.Configuration,
        of clients: [Configuration.Client], responseMode: AuthorizationResponseMode, requiresIssuer: Bool? = nil,
        profile: SecurityProfile? = nil, needsBrowsers: Bool = true, key: String
    ) -> [Finding] {
        var findings = [boundTokens(of: provider, subject, configured, profile, key: key)].compactMap(\.self)
        findings += mutualTLS(of: provider, subject, configured.mutualTLS, clients, profile, key: key)
        findings += encryptedResponses(of: provider, subject, clients)
        guard provider.authorizationEndpoint != nil else {
            return findings + [withoutBrowsers(subject, areNeeded: needsBrowsers, key: key)]
        }
        if let pushed = pushedRequests(
            of: provider, subject, configured.pushedAuthorizationRequests, profile, key: key)
        {
            findings.append(pushed)
        }
        findings += signedRequests(of: provider, subject, configured.signedRequestObjects, clients, key: key)
        let demands = provider.demands
        if let modes = demands.responseModes, !responseMode.isSupported(by: modes) {
            let signsMessages = profile?.signsMessages ?? false
            let others = modes.filter { $0.isSigned || !signsMessages }.map(\.rawValue).sorted()
                .joined(separator: " or ")
            findings.append(
                .problem(
                    .metadata, subject,
                    "the provider does not list \(responseMode.rawValue) in response_modes_supported: sign-ins by "
                        + "redirects fail",
                    fix: others.isEmpty
                        ? "have the provider allow "
                            + (signsMessages
                                ? "jwt, query.jwt or form_post.jwt; the profile has no other response mode"
                                : "query, form_post or jwt; Latchkey has no other response mode")
                        : "set response_mode of \(key) to \(others)"))
        }
        findings += signedResponses(of: provider, subject, responseMode, clients)
        if requiresIssuer == true, !provider.namesIssuerInResponses, !responseMode.isSigned {
            findings.append(
                .warning(
                    .metadata, subject,
                    "require_iss is set, and the metadata does not have "
                        + "authorization_response_iss_parameter_supported: sign-ins by redirects fail unless the "
                        + "provider sends iss all the same",
                    fix: "ask the provider whether its authorization responses have iss (RFC 9207)"))
        }
        if requiresIssuer == false, provider.namesIssuerInResponses {
            findings.append(
                .warning(
                    .metadata, subject,
                    "require_iss is false, and the metadata has authorization_response_iss_parameter_supported: a "
                        + "response without iss is accepted",
                    fix: "remove require_iss of \(key), unless the provider leaves iss out all the same"))
        }
        if !demands.acceptsS256 {
            findings.append(
                .problem(
                    .metadata, subject,
                    "the provider does not list S256 in code_challenge_methods_supported, the only method of Latchkey",
                    fix: "tell the provider"))
        }
        return findings
    }

    /// The provider has no endpoint for browsers (RFC 8414 section 2).
    private func withoutBrowsers(_ subject: String, areNeeded: Bool, key: String) -> Finding {
        let message = "the metadata has no authorization_endpoint: sign-ins by redirects fail"
        guard areNeeded else {
            return .ok(.metadata, subject, message + ", and those without a browser do not need it")
        }
        return .problem(
            .metadata, subject, message,
            fix: "set backchannel_token_delivery_mode of \(key) if the provider has registered the client for CIBA; "
                + "otherwise ask the provider how its users sign in")
    }

    private func boundTokens(
        of provider: ProviderMetadata, _ subject: String, _ configured: RelyingParty.Configuration,
        _ profile: SecurityProfile?, key: String
    ) -> Finding? {
        let isDemanded = provider.demands.dpopBoundTokens
        let use = DPoPUse(configured.dpop, at: provider, prefersBoundTokens: configured.prefersBoundTokens)
        guard use != .none else {
            guard isDemanded else { return nil }
            return .problem(
                .metadata, subject,
                "the provider binds access tokens to a key of the client (dpop_bound_access_tokens), and dpop is "
                    + "never: token requests fail, unless its metadata is wrong", fix: "set dpop of \(key) to auto")
        }
        if provider.demands.dpopAlgorithms == nil, !isDemanded {
            return .warning(
                .metadata, subject,
                "dpop is always, and the metadata does not have dpop_signing_alg_values_supported (RFC 9449 section "
                    + "5.1): token requests fail unless the provider binds tokens to a key all the same",
                fix: "ask the provider whether it supports DPoP; if it does not, "
                    + (profile.map(Self.bindingRemedy) ?? "set dpop of \(key) to auto"))
        }
        guard provider.demands.dpopAlgorithms?.contains(.es256) ?? true else {
            return .problem(
                .metadata, subject,
                "the provider does not list ES256 in dpop_signing_alg_values_supported, the only algorithm of "
                    + "Latchkey's DPoP proofs: token requests fail",
                fix: isDemanded
                    ? "tell the provider" : profile.map(Self.bindingRemedy) ?? "set dpop of \(key) to auto")
        }
        guard use == .required else {
            return .ok(
                .metadata, subject,
                "access tokens are bound to a key (DPoP), because the provider supports it")
        }
        return .ok(
            .metadata, subject,
            "access tokens are bound to a key (DPoP), "
                + (isDemanded ? "as the provider demands" : "because dpop is always")
        )
    }

    /// What to do about a provider without DPoP under a profile, which demands bound tokens.
    private static func bindingRemedy(_ profile: SecurityProfile) -> String {
        "tell the provider, or bind tokens to the clients' certificates with mtls: always; profile: "
            + "\(profile.rawValue) demands one of them"
    }

    private func signedRequests(
        of provider: ProviderMetadata, _ subject: String, _ requests: FeatureUse,
        _ clients: [Configuration.Client], key: String
    ) -> [Finding] {
        let isDemanded = provider.demands.signedRequestObjects
        guard requests.applies(ifDemanded: isDemanded) else {
            guard isDemanded else { return [] }
            return [
                .problem(
                    .metadata, subject,
                    "the provider demands signed authorization requests, and request_object is never: sign-ins by "
                        + "redirects fail, unless its metadata is wrong", fix: "set request_object of \(key) to auto")
            ]
        }
        let problems = clients.compactMap { client -> Finding? in
            do throws(OIDCError) {
                try provider.check(requestObjectKey: client.signingKey)
                return nil
            } catch {
                return .problem(
                    .metadata, "\(subject), client \(client.id.text)",
                    error.reason + " Sign-ins by redirects fail",
                    fix: client.signingKey == nil
                        ? "give the client a private_key_file, and the provider its public half"
                        : "set private_key_alg of the client, or give it a private_key_file of another type")
            }
        }
        guard problems.isEmpty else { return problems }
        return [
            .ok(
                .metadata, subject,
                "authorization requests are signed, "
                    + (isDemanded ? "as the provider demands" : "because request_object is always"))
        ]
    }

    private func signedResponses(
        of provider: ProviderMetadata, _ subject: String, _ mode: AuthorizationResponseMode,
        _ clients: [Configuration.Client]
    ) -> [Finding] {
        guard mode.isSigned else { return [] }
        let listed = provider.demands.responseAlgorithms
        let problems = clients.filter { !(listed?.contains($0.responseSigningAlgorithm) ?? true) }.map { client in
            Finding.problem(
                .metadata, "\(subject), client \(client.id.text)",
                "the provider does not list \(client.responseSigningAlgorithm.rawValue) in "
                    + "authorization_signing_alg_values_supported: sign-ins by redirects fail",
                fix: "set authorization_signed_response_alg of the client as it is registered there")
        }
        guard problems.isEmpty else { return problems }
        return [.ok(.metadata, subject, "authorization responses must be signed (response_mode: \(mode.rawValue))")]
    }

    private func pushedRequests(
        of provider: ProviderMetadata, _ subject: String, _ requests: FeatureUse,
        _ profile: SecurityProfile?, key: String
    ) -> Finding? {
        let isDemanded = provider.demands.pushedRequests
        guard requests.applies(ifDemanded: isDemanded) else {
            guard isDemanded else { return nil }
            return .problem(
                .metadata, subject,
                "the provider demands pushed authorization requests, and par is never: sign-ins by redirects fail, "
                    + "unless its metadata is wrong", fix: "set par of \(key) to auto")
        }
        do throws(OIDCError) {
            _ = try provider.endpointForPushedRequests()
            return .ok(
                .metadata, subject,
                "authorization requests are pushed, \(isDemanded ? "as the provider demands" : "because par is always")"
            )
        } catch {
            return .problem(
                .metadata, subject, error.reason + " Sign-ins by redirects fail",
                fix: isDemanded
                    ? "tell the provider, which demands pushed authorization requests"
                    : profile.map {
                        "tell the provider: profile: \($0.rawValue) demands pushed authorization requests; without "
                            + "them, remove profile and set its other parts one by one"
                    }
                        ?? "set par of \(key) to auto: the provider has no endpoint for pushed authorization requests")
        }
    }
}
