import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// The plans of FAPI 2.0. `profile` is the provider's only setting for them.
extension CertificationPlan {
    static let securityProfile = CertificationPlan(
        id: "fapi2", title: "FAPI 2.0 security profile", name: "fapi2-security-profile-final-client-test-plan",
        summary: """
            With `profile: fapi2`: OpenID Connect, `private_key_jwt`, and access tokens bound by DPoP. The provider \
            demands pushed requests, a nonce in each DPoP proof, and assertions for its issuer alone, and publishes \
            its key between others of the same `kid`.
            """,
        client: .key, settings: { settings("fapi2", .dpop, .key, $0) }, clientSettings: [:],
        provider: { demand(.dpop, .key, &$0) },
        modules: tokenModules + dpopModules + responseModules + stateModules + [noAliases, refreshModule],
        others: [openBanking])

    static let securityProfileMutualTLS = securityProfile(
        id: "fapi2-mtls", "with mutual TLS", .certificate, .certificate,
        """
        The same with `client_auth_type=mtls` and `sender_constrain=mtls`: `tls_client_auth` and `mtls: always`. The \
        provider knows the client by its TLS certificate, binds access tokens to it, and takes such requests at its \
        `mtls_endpoint_aliases`.
        """)

    static let securityProfileBoundKey = securityProfile(
        id: "fapi2-bound", "with bound tokens", .boundKey, .certificate,
        """
        The same with `client_auth_type=private_key_jwt` and `sender_constrain=mtls`: access tokens are bound to the \
        TLS certificate of a client that authenticates with a key.
        """)

    static let securityProfileCertificate = securityProfile(
        id: "fapi2-cert", "with a certificate and DPoP", .certificate, .dpop,
        """
        The same with `client_auth_type=mtls` and `sender_constrain=dpop`: `tls_client_auth`, and access tokens bound \
        by DPoP.
        """)

    private static func securityProfile(
        id: String, _ variant: String, _ client: Client, _ binding: Binding, _ summary: String
    ) -> CertificationPlan {
        CertificationPlan(
            id: id, title: "FAPI 2.0 security profile \(variant)",
            name: "fapi2-security-profile-final-client-test-plan", summary: summary, client: client,
            settings: { settings("fapi2", binding, client, $0) }, clientSettings: [:],
            provider: { demand(binding, client, &$0) },
            modules: tokenModules + (binding == .dpop ? dpopModules : bearerModules) + responseModules + stateModules
                + [noAliases, refreshModule],
            others: (binding == .dpop ? [] : [aboutDPoP]) + [openBanking])
    }

    static let messageSigning = CertificationPlan(
        id: "signed", title: "FAPI 2.0 message signing", name: "fapi2-message-signing-final-client-test-plan",
        summary: """
            With `profile: fapi2-message-signing`: the same as with `profile: fapi2`, with signed requests (JAR) and \
            signed responses (JARM).
            """,
        client: .key, settings: { settings("fapi2-message-signing", .dpop, .key, $0) }, clientSettings: signedResponses,
        provider: { demandSigned(.dpop, .key, &$0) },
        modules: tokenModules + dpopModules + signedStateModules + signedResponseModules
            + [noAliases, refreshModule],
        others: [aboutUnsigned, openBanking])

    static let messageSigningMutualTLS = messageSigning(
        id: "signed-mtls", "with mutual TLS", .certificate, .certificate,
        "The same with `client_auth_type=mtls` and `sender_constrain=mtls`.")

    static let messageSigningBoundKey = messageSigning(
        id: "signed-bound", "with bound tokens", .boundKey, .certificate,
        "The same with `client_auth_type=private_key_jwt` and `sender_constrain=mtls`.")

    static let messageSigningCertificate = messageSigning(
        id: "signed-cert", "with a certificate and DPoP", .certificate, .dpop,
        "The same with `client_auth_type=mtls` and `sender_constrain=dpop`.")

    private static func messageSigning(
        id: String, _ variant: String, _ client: Client, _ binding: Binding, _ summary: String
    ) -> CertificationPlan {
        CertificationPlan(
            id: id, title: "FAPI 2.0 message signing \(variant)", name: "fapi2-message-signing-final-client-test-plan",
            summary: summary, client: client,
            settings: { settings("fapi2-message-signing", binding, client, $0) }, clientSettings: signedResponses,
            provider: { demandSigned(binding, client, &$0) },
            modules: tokenModules + (binding == .dpop ? dpopModules : bearerModules) + signedStateModules
                + signedResponseModules + [noAliases, refreshModule],
            others: [aboutUnsigned] + (binding == .dpop ? [] : [aboutDPoP]) + [openBanking])
    }

    /// What access tokens are bound to.
    private enum Binding { case dpop, certificate }

    private static let prefix = "fapi2-security-profile-final-client-test-"

    private static let signedResponses: Settings = ["authorization_signed_response_alg": "ES256"]

    private static func settings(
        _ profile: String, _ binding: Binding, _ client: Client, _ address: Address
    ) -> Settings {
        let provider = client.holder == nil ? address.issuer : address.certified
        let resource = ["url": provider + "/v2/users/me/token?type=zak"]
        let settings: Settings = ["profile": profile, "store_tokens": true, "resources": ["account": resource]]
        return binding == .dpop ? settings : settings.merging(["mtls": "always"]) { $1 }
    }

    private static func demand(_ binding: Binding, _ client: Client, _ provider: inout CarrierSimulator.Carrier) {
        provider.signingAlgorithm = .es256
        let method: CarrierSimulator.Client.Authentication =
            client == .certificate ? .tlsClientAuth(subject: "") : .privateKeyJWT(publicKeyPEM: "")
        provider.authenticationMethods = [method.name]
        provider.faults = [.parRequired, .clientAssertionStrict]
        switch binding {
        case .dpop: provider.faults.formUnion([.dpopRequired, .dpopNonce])
        case .certificate: provider.bindsTokensToCertificates = true
        }
        provider.tampering.objects[.keys, default: []].append { set in
            var keys = set.keys
            guard let keyID = keys.first?["kid"]?.string else { return }
            keys.insert(ConformanceKeys.rsaJWK(keyID, alg: "PS256"), at: 0)
            keys.append(ConformanceKeys.ecJWK(keyID, use: "enc"))
            set["keys"] = .array(keys.map(\.value))
        }
    }

    private static func demandSigned(
        _ binding: Binding, _ client: Client, _ provider: inout CarrierSimulator.Carrier
    ) {
        demand(binding, client, &provider)
        provider.faults.insert(.requestObjectRequired)
    }

    private static let openBanking = Others(
        names: [prefix + "invalid-openbanking-intent-id"], reason: "Intent ids are part of UK Open Banking.")

    private static let aboutUnsigned = Others(
        names: responseModules.map(\.name),
        reason: "The plan leaves it out with JARM, whose own modules are about `iss`.")

    private static let aboutDPoP = Others(
        names: dpopOnly.map { prefix + $0 },
        reason: "The plan leaves it out with `sender_constrain=mtls`: it is about DPoP.")

    /// About tokens and metadata.
    private static let tokenModules: [CertificationModule] =
        [
            "happy-path", "discovery-issuer-mismatch", "invalid-iss", "invalid-aud", "invalid-secondary-aud",
            "invalid-null-alg", "invalid-alternate-alg", "invalid-expired-exp", "invalid-missing-exp",
            "invalid-missing-aud", "invalid-missing-iss", "valid-aud-as-array", "invalid-nonce",
            "invalid-missing-nonce", "token-endpoint-response-without-expires_in",
        ].map { .same(prefix + $0, as: "fapi2-" + $0) }

    private static let dpopOnly = ["rs-dpop-auth-scheme-case-insensitivity", "happy-path-no-dpop-nonce"]

    private static let dpopModules: [CertificationModule] = [
        CertificationModule(prefix + "token-type-case-insensitivity", .signedIn, .tokens("token_type", "dpOp")),
        CertificationModule(prefix + dpopOnly[0], .signedIn, .answer(.userInfo, invertScheme)).by(signInWithNonces),
        CertificationModule(prefix + dpopOnly[1], .signedIn, .carrier { $0.faults.remove(.dpopNonce) }),
    ]

    /// Of tokens that are bound to a certificate.
    private static let bearerModules: [CertificationModule] = [
        CertificationModule(prefix + "token-type-case-insensitivity", .signedIn, .tokens("token_type", "bEARER"))
    ]

    private static let noAliases = CertificationModule(
        prefix + "happy-path-no-mtls-endpoint-aliases", .signedIn
    ).by(CertificationRun.signInWithoutAliases).withoutVerdict("Its run in the suite gave none.")

    /// About an authorization response that is not signed.
    private static let responseModules: [CertificationModule] = [
        "invalid-authorization-response-iss", "remove-authorization-response-iss",
    ].map { .same(prefix + $0, as: "fapi2-" + $0) }

    private static let stateNames = ["invalid-state", "invalid-missing-state"].map {
        "ensure-authorization-response-with-\($0)-fails"
    }

    private static let stateModules: [CertificationModule] = stateNames.map {
        .same(prefix + $0, as: "fapi2-" + $0)
    }

    /// The same, where the state is in a JWT.
    private static let signedStateModules = [
        CertificationModule(prefix + stateNames[0], .noCodeRedeemed(), .fault(.authorizationOtherState)),
        CertificationModule(prefix + stateNames[1], .noCodeRedeemed("state"), .fault(.authorizationMissingState)),
    ]

    private static let signedResponseModules = [
        ("without-iss-fails", "issuer", CarrierSimulator.Fault.jarmMissingIssuer),
        ("with-invalid-iss-fails", "issuer", .jarmOtherIssuer),
        ("without-aud-fails", "audience", .jarmMissingAudience),
        ("with-invalid-aud-fails", "audience", .jarmOtherAudience),
        ("without-exp-fails", "expiry", .jarmMissingExpiry), ("with-expired-exp-fails", "expiry", .jarmExpired),
        ("with-invalid-sig-fails", "signature", .jarmBadSignature), ("signature-is-not-none", "format", .jarmAlgNone),
    ].map { CertificationModule(prefix + "ensure-jarm-" + $0, .noCodeRedeemed($1), .fault($2)) }

    private static let refreshModule = CertificationModule(
        "fapi2-security-profile-final-client-refresh-token-test", .refreshed
    ).by(refreshTwice).withoutVerdict("The suite has it for national profiles only.")

    // MARK: Steps

    private static func invertScheme(_ response: inout Response) {
        response.headers[.wwwAuthenticate] = response.headers[.wwwAuthenticate]?.replacing("DPoP ", with: "dpOp ")
    }

    private static let signInWithNonces: CertificationModule.Steps = { run in
        let observation = try await CertificationRun.signIn(run)
        #expect(run.count(.userInfo) == 2, "the second one has the nonce that was demanded")
        return observation
    }

    /// The resource refuses every token until it was refreshed twice.
    private static let refreshTwice: CertificationModule.Steps = { run in
        let browser = Browser()
        let observation = try await run.signIn(browser)
        guard observation == .signedIn else { return observation }
        let before = run.count(.token)
        run.simulator.update(run.provider) { provider in
            provider.tampering.responses[.resource, default: []].append { response in
                let refreshes = run.simulator.log.entries.filter {
                    $0.mccmnc == run.provider && $0["grant_type"] == "refresh_token"
                }
                guard refreshes.count < 2, response.status == .ok else { return }
                response = Response(status: .unauthorized)
                response.headers[.wwwAuthenticate] = "DPoP error=\"invalid_token\""
            }
        }
        let first = try await run.fetch("account", browser)
        #expect(first.status >= 400)
        let second = try await run.fetch("account", browser)
        #expect(run.count(.token) > before + 1)
        return second.status == 200 ? .refreshed : .other("\(first.text) \(second.text)")
    }
}
