import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

// What a provider demands of sign-ins by redirects, compared with what Latchkey does: a demand that is not met fails at
// the provider, with the first user.
extension ServerExamination {
    private var key: String { known.keys.settings }

    mutating func examineDemands() {
        // It has no metadata.
        guard !known.kind.takesProofs else { return }
        boundTokens()
        mutualTLS()
        encryptedResponses()
        guard provider.authorizationEndpoint != nil else { return withoutBrowsers() }
        pushedRequests()
        signedRequests()
        responseMode()
        signedResponses()
        namedIssuers()
        if !provider.demands.acceptsS256, known.rules.pkce != .off {
            problem(
                "the provider does not list S256 in code_challenge_methods_supported, the only method of Latchkey",
                fix: "tell the provider")
        }
    }

    /// The provider has no endpoint for browsers (RFC 8414 section 2).
    private mutating func withoutBrowsers() {
        let message = "the metadata has no authorization_endpoint: sign-ins by redirects fail"
        guard known.kind != .camara, known.rules.backchannelTokenDelivery == .off else {
            return ok(message + ", and those without a browser do not need it")
        }
        problem(
            message,
            fix: "set backchannel_token_delivery_mode of \(key) if the provider has registered the client for CIBA; "
                + "otherwise ask the provider how its users sign in")
    }

    private mutating func boundTokens() {
        let isDemanded = provider.demands.dpopBoundTokens
        let configured = doctor.configuration.relyingParty(of: known)
        let use = DPoPUse(configured.extensions.dpop, at: provider, prefersBoundTokens: configured.prefersBoundTokens)
        guard use != .none else {
            guard isDemanded else { return }
            return problem(
                "the provider binds access tokens to a key of the client (dpop_bound_access_tokens), and dpop is "
                    + "never: token requests fail, unless its metadata is wrong", fix: "set dpop of \(key) to auto")
        }
        // A profile demands bound tokens.
        let remedy =
            known.profile.map {
                "tell the provider, or bind tokens to the clients' certificates with mtls: always; profile: "
                    + "\($0.rawValue) demands one of them"
            } ?? "set dpop of \(key) to auto"
        if provider.demands.dpopAlgorithms == nil, !isDemanded {
            return warning(
                "dpop is always, and the metadata does not have dpop_signing_alg_values_supported (RFC 9449 section "
                    + "5.1): token requests fail unless the provider binds tokens to a key all the same",
                fix: "ask the provider whether it supports DPoP; if it does not, " + remedy)
        }
        guard provider.demands.dpopAlgorithms?.contains(.es256) ?? true else {
            return problem(
                "the provider does not list ES256 in dpop_signing_alg_values_supported, the only algorithm of "
                    + "Latchkey's DPoP proofs: token requests fail", fix: isDemanded ? "tell the provider" : remedy)
        }
        let reason =
            use != .required
            ? "because the provider supports it" : isDemanded ? "as the provider demands" : "because dpop is always"
        ok("access tokens are bound to a key (DPoP), \(reason)")
    }

    private mutating func mutualTLS() {
        let setting = known.extensions.mutualTLS
        let isSupported = provider.demands.certificateBoundTokens
        guard isSupported || setting != .always else {
            return problem(
                "mtls is always, and the metadata does not have tls_client_certificate_bound_access_tokens: "
                    + "sign-ins fail",
                fix: known.profile == nil
                    ? "set mtls of \(key) to auto, or tell the provider"
                    : "tell the provider, or bind tokens by DPoP: remove mtls of \(key)")
        }
        let presenting = known.clients.filter { $0.credentials.clientTLS(at: provider, setting) != nil }
        for client in presenting { certificate(of: client) }
        guard isSupported else { return }
        ok(
            presenting.isEmpty
                ? "the provider can bind access tokens to a TLS certificate of the client "
                    + "(tls_client_certificate_bound_access_tokens), and Latchkey presents none: the client must be "
                    + "registered without"
                : "the clients' TLS certificates are presented, so that access tokens can be bound to them")
    }

    private mutating func pushedRequests() {
        let isDemanded = provider.demands.pushedRequests
        guard known.extensions.pushedAuthorizationRequests.applies(ifDemanded: isDemanded) else {
            guard isDemanded else { return }
            return problem(
                "the provider demands pushed authorization requests, and par is never: sign-ins by redirects fail, "
                    + "unless its metadata is wrong", fix: "set par of \(key) to auto")
        }
        do throws(OIDCError) {
            _ = try provider.endpointForPushedRequests()
            ok("authorization requests are pushed, \(isDemanded ? "as the provider demands" : "because par is always")")
        } catch {
            problem(
                error.reason + " Sign-ins by redirects fail",
                fix: isDemanded
                    ? "tell the provider, which demands pushed authorization requests"
                    : known.profile.map {
                        "tell the provider: profile: \($0.rawValue) demands pushed authorization requests; without "
                            + "them, remove profile and set its other parts one by one"
                    }
                        ?? "set par of \(key) to auto: the provider has no endpoint for pushed authorization requests")
        }
    }

    private mutating func signedRequests() {
        let isDemanded = provider.demands.signedRequestObjects
        guard known.extensions.signedRequestObjects.applies(ifDemanded: isDemanded) else {
            guard isDemanded else { return }
            return problem(
                "the provider demands signed authorization requests, and request_object is never: sign-ins by "
                    + "redirects fail, unless its metadata is wrong", fix: "set request_object of \(key) to auto")
        }
        let before = findings.count
        for client in known.clients {
            do throws(OIDCError) {
                try provider.check(requestObjectKey: client.signingKey)
            } catch {
                problem(
                    error.reason + " Sign-ins by redirects fail", of: client,
                    fix: client.signingKey == nil
                        ? "give the client a private_key_file, and the provider its public half"
                        : "set private_key_alg of the client, or give it a private_key_file of another type")
            }
        }
        guard findings.count == before else { return }
        let reason = isDemanded ? "as the provider demands" : "because request_object is always"
        ok("authorization requests are signed, \(reason)")
    }

    private mutating func responseMode() {
        let mode = known.rules.responseMode
        guard let modes = provider.demands.responseModes, !mode.isSupported(by: modes) else { return }
        let signsMessages = known.profile?.signsMessages ?? false
        let others = modes.filter { $0.isSigned || !signsMessages }.map(\.rawValue).sorted().joined(separator: " or ")
        problem(
            "the provider does not list \(mode.rawValue) in response_modes_supported: sign-ins by redirects fail",
            fix: others.isEmpty
                ? "have the provider allow "
                    + (signsMessages
                        ? "jwt, query.jwt or form_post.jwt; the profile has no other response mode"
                        : "query, form_post or jwt; Latchkey has no other response mode")
                : "set response_mode of \(key) to \(others)")
    }

    private mutating func signedResponses() {
        let mode = known.rules.responseMode
        guard mode.isSigned else { return }
        let unlisted = known.clients.filter {
            provider.demands.responseAlgorithms?.contains($0.responseSigningAlgorithm) == false
        }
        for client in unlisted {
            problem(
                "the provider does not list \(client.responseSigningAlgorithm.rawValue) in "
                    + "authorization_signing_alg_values_supported: sign-ins by redirects fail", of: client,
                fix: "set authorization_signed_response_alg of the client as it is registered there")
        }
        if unlisted.isEmpty { ok("authorization responses must be signed (response_mode: \(mode.rawValue))") }
    }

    private mutating func namedIssuers() {
        switch (known.rules.requiresIssuer, provider.namesIssuerInResponses) {
        case (true?, false) where !known.rules.responseMode.isSigned:
            warning(
                "require_iss is set, and the metadata does not have "
                    + "authorization_response_iss_parameter_supported: sign-ins by redirects fail unless the provider "
                    + "sends iss all the same",
                fix: "ask the provider whether its authorization responses have iss (RFC 9207)")
        case (false?, true):
            warning(
                "require_iss is false, and the metadata has authorization_response_iss_parameter_supported: a "
                    + "response without iss is accepted",
                fix: "remove require_iss of \(key), unless the provider leaves iss out all the same")
        default: break
        }
    }

    /// What the settings say in place of the metadata. The defences that they take away are warnings of the
    /// configuration, which the report has, too.
    mutating func examineDeviations() {
        let rules = known.rules
        if let url = rules.metadataURL { ok("the metadata is that of \(url.text) (metadata_url)") }
        if known.kind == .oidc, !rules.endpoints.isEmpty {
            let names = rules.endpoints.keys.sorted().joined(separator: ", ")
            ok("configured, whatever the metadata says: \(names)")
        }
        let trusted = rules.trustedAudiences + known.clients.flatMap(\.trustedAudiences)
        if !trusted.isEmpty {
            let names = trusted.map(\.text).joined(separator: ", ")
            ok("ID tokens may be for the client and \(names) (trusted_audiences)")
        }
    }

    /// What a provider says about backchannel authentication (CIBA), compared with the settings.
    mutating func examineBackchannel() {
        guard let mode = known.rules.backchannelTokenDelivery.mode else { return }
        let key = "backchannel_token_delivery_mode of providers.\(known.id)"
        guard let metadata = provider.backchannelAuthentication else {
            return problem(
                "\(key) is set, and the metadata has no backchannel_authentication_endpoint on https",
                fix: "set it to off, or have the provider enable CIBA")
        }
        guard metadata.mayDeliver(by: mode) else {
            let others = (metadata.deliveryModes ?? []).map(\.rawValue).sorted().joined(separator: " or ")
            return problem(
                "the provider does not list \(mode.rawValue) in backchannel_token_delivery_modes_supported",
                fix: others.isEmpty ? "set \(key) to off: Latchkey has no other mode" : "set \(key) to \(others)")
        }
        ok("backchannel authentication is supported in the mode \(mode.rawValue)")
        if mode == .ping, doctor.configuration.publicURL == nil {
            problem(
                "\(key) is ping, and public_url is not set: the provider cannot notify",
                fix: "set public_url, and register what latchkey client-metadata prints")
        }
        guard doctor.configuration.relyingParty(of: known).signedBackchannelRequests == .always else { return }
        let listed = metadata.signingAlgorithms ?? []
        for client in known.clients where client.signingKey.map({ !listed.contains($0.algorithm) }) ?? true {
            problem(
                "requests must be signed, and the provider lists no algorithm of a key of \(client.id.text) in "
                    + "backchannel_authentication_request_signing_alg_values_supported",
                fix: "give the client a private_key with a listed algorithm, or set request_object to auto")
        }
    }
}
