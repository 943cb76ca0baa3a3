import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import Primitives

/// The plan of FAPI-CIBA, for each mode and each way in which a client and its tokens are bound.
extension CertificationPlan {
    static let backchannelPoll = backchannelPlan(.poll, .key)
    static let backchannelPollMutualTLS = backchannelPlan(.poll, .certificate)
    static let backchannelPollBoundKey = backchannelPlan(.poll, .boundKey)
    static let backchannelPing = backchannelPlan(.ping, .key)
    static let backchannelPingMutualTLS = backchannelPlan(.ping, .certificate)
    static let backchannelPingBoundKey = backchannelPlan(.ping, .boundKey)

    private static let prefix = "fapi-ciba-id1-client-"

    private static func backchannelPlan(_ mode: BackchannelTokenDeliverySetting, _ client: Client) -> CertificationPlan
    {
        let isPing = mode == .ping
        let (suffix, variant) =
            switch client {
            case .certificate: ("-mtls", " with mutual TLS")
            case .boundKey: ("-bound", " with bound tokens")
            case .key, .secret, .selfSigned: ("", "")
            }
        return CertificationPlan(
            id: "ciba-\(mode.rawValue)\(suffix)", title: "FAPI-CIBA, mode \(mode.rawValue)\(variant)",
            name: "fapi-ciba-id1-client-test-plan", summary: summary(of: mode, client), client: client,
            settings: { _ in
                let settings: Settings = ["backchannel_token_delivery_mode": mode.rawValue, "profile": "fapi2"]
                return client.holder == nil ? settings : settings.merging(["mtls": "always"]) { $1 }
            },
            provider: { demand(of: client, &$0) },
            modules: commonModules + (isPing ? [invalidBearerToken] : pollModules),
            others: [isPing ? aboutPolls : aboutNotifications] + otherProfiles, backchannel: mode)
    }

    private static func summary(of mode: BackchannelTokenDeliverySetting, _ client: Client) -> String {
        let asked =
            mode == .ping
            ? "The token endpoint is asked after the provider's notification."
            : "The token endpoint is asked in the intervals that the provider allows."
        return switch client {
        case .certificate:
            """
            The same with `client_auth_type=mtls`: `tls_client_auth` and `mtls: always`. The provider knows the client \
            by its TLS certificate, binds access tokens to it, and takes such requests at its \
            `mtls_endpoint_aliases`. Requests are signed.
            """
        case .boundKey:
            """
            The same with `client_auth_type=private_key_jwt`: access tokens are bound to the TLS certificate of a \
            client that authenticates with a key.
            """
        case .key, .secret, .selfSigned:
            """
            With `backchannel_token_delivery_mode: \(mode.rawValue)` and `profile: fapi2`: `private_key_jwt`, signed \
            requests, and access tokens bound by DPoP, whose proofs have nonces. \(asked) The provider has no \
            authorization endpoint.
            """
        }
    }

    private static func demand(of client: Client, _ provider: inout CarrierSimulator.Carrier) {
        provider.tampering.objects[.discovery, default: []].append(leaveOutBrowsers)
        provider.signingAlgorithm = .es256
        provider.authenticationMethods = [client == .certificate ? "tls_client_auth" : "private_key_jwt"]
        provider.faults = [.requestObjectRequired, .clientAssertionStrict]
        if client.holder == nil {
            provider.faults.formUnion([.dpopRequired, .dpopNonce])
        } else {
            provider.bindsTokensToCertificates = true
        }
    }

    /// As the suite's provider: without an authorization endpoint, its grant type and its response types.
    private static func leaveOutBrowsers(_ metadata: inout JSONMembers) {
        metadata["authorization_endpoint"] = nil
        metadata["response_types_supported"] = nil
        metadata["grant_types_supported"] = [
            "client_credentials", "refresh_token", "urn:openid:params:grant-type:ciba",
        ]
    }

    private static let commonModules: [CertificationModule] =
        [
            CertificationModule(prefix + "test", .signedIn),
            .same(prefix + "valid-aud-as-array-test", as: "fapi2-valid-aud-as-array"),
            .same(
                prefix + "no-scope-in-token-endpoint-response-test", as: "fapi1-no-scope-in-token-endpoint-response"),
            CertificationModule(prefix + "respects-interval-test", .signedIn, .fault(.cibaLongInterval)),
            CertificationModule(
                prefix + "invalid-missing-authreqid-test", .notStarted("carrier_error"), .fault(.cibaMissingID)),
            CertificationModule(
                prefix + "invalid-missing-expiresin-test", .notStarted("carrier_error"), .fault(.cibaMissingExpiresIn)),
            CertificationModule(
                prefix + "invalid-unknown-user-id-test", .notStarted("unknown_user_id"),
                .answer(.backchannelAuthentication, 400, #"{"error":"unknown_user_id"}"#)),
        ]
        + [
            "invalid-iss", "invalid-aud", "invalid-secondary-aud", "invalid-null-alg", "invalid-alternate-alg",
            "invalid-expired-exp", "invalid-missing-aud", "invalid-missing-exp", "invalid-missing-iss",
        ].map { .same(prefix + $0 + "-test", as: "fapi2-" + $0) }
        + [
            CertificationModule(
                prefix + "invalid-signature-test", .refused("signature"), .fault(.idTokenBadSignature)),
            .same(prefix + "invalid-iat-is-week-in-past-test", as: "fapi1-iat-is-week-in-past"),
        ]

    private static let pollModules: [CertificationModule] =
        [CertificationModule(prefix + "slow-down-test", .signedIn, .fault(.cibaSlowDown)).refusing("slow_down")]
        + [
            ("invalid-request", "invalid_request"), ("invalid-access-denied", "access_denied"),
            ("invalid-expired-token", "expired_token"),
        ].map { name, code in
            CertificationModule(prefix + name + "-test", .ended(code))
                .asking(BackchannelCertificationRun.end(with: code)).refusing(code)
        }

    private static let invalidBearerToken = CertificationModule(
        prefix + "ping-with-invalid-bearer-token-test", .pingRefused, .fault(.notificationWrongToken))

    private static let aboutPolls = Others(
        names: pollModules.map(\.name), reason: "The plan has it in the mode poll only.")

    private static let aboutNotifications = Others(
        names: [invalidBearerToken.name], reason: "There are no notifications in the mode poll.")

    private static let otherProfiles = [
        Others(
            names: ["refresh-token-test", "invalid-expired-id-token-hint-test", "invalid-id-token-hint-test"].map {
                prefix + $0
            }, reason: "The plan has it for Open Finance Brazil only."),
        Others(
            names: ["missing-txn", "missing-trust-framework", "wrong-trust-framework"].map {
                prefix + "connectid-invalid-\($0)-test"
            }, reason: "The plan has it for ConnectID Australia only."),
    ]
}
