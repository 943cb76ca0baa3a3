import Crypto
import Examination
import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

/// How the doctor judges clocks and certificates, with a carrier of scripted responses.
struct DoctorRulesTests {
    private static let now: Int64 = 784_111_777

    /// The findings about a carrier whose responses have this date and certificate.
    private func findings(
        _ area: DoctorReport.Finding.Area, date: String? = nil, expiry: Int64? = nil, failure: OutboundError? = nil,
        database: (SQLiteConfiguration) async throws -> Void = { _ in },
        after: (SQLiteConfiguration) async throws -> Void = { _ in }
    ) async throws -> [DoctorReport.Finding] {
        let issuer = "https://login.carrier.example"
        let key = TestSigningKey(keyID: "k1")
        let http = ScriptedHTTPClient { request throws(OutboundError) in
            if let failure { throw failure }
            let text =
                request.url.text.hasPrefix(issuer + "/jwks")
                ? "{\"keys\":[\(key.jwk)]}"
                : """
                {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/a","token_endpoint":"\(issuer)/t",\
                "jwks_uri":"\(issuer)/jwks"}
                """
            var response = OutboundResponse.json(text)
            response.date = date
            response.certificateExpiry = expiry.map(Timestamp.init(secondsSinceEpoch:))
            return response
        }
        let directory = try TemporaryDirectory()
        var configuration = Configuration()
        configuration.database.url = DatabaseURL(path: directory.file("latchkey.db"))
        try await database(SQLiteConfiguration(path: directory.file("latchkey.db")))
        configuration.zenkey.trustedIssuers = ["*.carrier.example"]
        configuration.zenkey.discoveryURL = EndpointURL("https://discovery.carrier.example/x", policy: .httpsOnly)
        configuration.zenkey.clients = [.init(id: try #require(ClientID("client-1")), secret: Secret("s3cret"))]
        let doctor = Doctor(
            configuration, features: .none, networks: [try #require(MCCMNC("310999"))], http: http,
            clock: ManualClock(secondsSinceEpoch: Self.now).wallClock)
        let report = await doctor.examine()
        try await after(SQLiteConfiguration(path: directory.file("latchkey.db")))
        #expect(!(report.text + report.json).contains("s3cret"))
        return report.findings.filter { $0.area == area }
    }

    @Test(
        "A clock difference above half the allowed skew is a warning, and above all of it a problem",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", .ok), ("Sun, 06 Nov 1994 08:50:07 GMT", .ok),
            ("Sun, 06 Nov 1994 08:50:08 GMT", .warning), ("Sun, 06 Nov 1994 08:48:37 GMT", .warning),
            ("Sun, 06 Nov 1994 08:50:38 GMT", .problem), ("Sun, 06 Nov 1994 08:48:36 GMT", .problem),
            ("Mon, 07 Nov 1994 08:49:37 GMT", .problem), (nil, .warning), ("yesterday", .warning),
        ] as [(String?, DoctorReport.Finding.Severity)])
    func clock(date: String?, severity: DoctorReport.Finding.Severity) async throws {
        let findings = try await findings(.clock, date: date)
        #expect(findings.map(\.subject) == ["discovery.carrier.example:443", "login.carrier.example:443"])
        #expect(findings.map(\.severity) == [severity, severity])
    }

    @Test(
        "A certificate that expires soon is a warning, very soon a problem, and an unknown expiry neither",
        arguments: [
            (90, .ok), (14, .ok), (13, .warning), (3, .warning), (2, .problem), (0, .problem), (-1, .problem),
            (nil, .ok),
        ] as [(Int64?, DoctorReport.Finding.Severity)])
    func certificates(days: Int64?, severity: DoctorReport.Finding.Severity) async throws {
        let findings = try await findings(.certificates, expiry: days.map { Self.now + $0 * 86_400 + 60 })
        #expect(findings.map(\.severity) == [severity, severity])
        if days == nil { #expect(findings.allSatisfy { $0.message.contains("does not report") }) }
    }

    @Test(
        "Without public_url, only a server that no loopback address leads to cannot start sign-ins by redirect",
        arguments: [
            (["127.0.0.1"], .ok), (["::1"], .ok), (["localhost"], .ok), (["10.0.0.7", "127.0.0.1"], .ok),
            (["0.0.0.0"], .warning), (["10.0.0.7"], .warning), (["127.example.com"], .warning),
        ] as [([String], DoctorReport.Finding.Severity)])
    func withoutPublicURL(hosts: [String], severity: DoctorReport.Finding.Severity) async throws {
        var configuration = Configuration()
        configuration.http.hosts = hosts
        let directory = try TemporaryDirectory()
        configuration.database.url = DatabaseURL(path: directory.file("latchkey.db"))
        let http = ScriptedHTTPClient { _ throws(OutboundError) in
            throw OutboundError(.timedOut, mayHaveBeenSent: false, reason: "no response")
        }
        let findings = await Doctor(configuration, features: .none, http: http).examine().findings.filter {
            $0.area == .publicURL
        }
        #expect(findings.map(\.severity) == [severity])
        #expect(findings.first?.message.contains("is not set") == true)
    }

    @Test("With public_url, it prints the callbacks to register, which only a build with redirects has")
    func callbacks() async throws {
        var configuration = Configuration()
        configuration.publicURL = EndpointURL("https://login.example/", policy: .httpsOnly)
        let directory = try TemporaryDirectory()
        configuration.database.url = DatabaseURL(path: directory.file("latchkey.db"))
        let issuer = try #require(EndpointURL("https://acme.example", policy: .httpsOnly))
        configuration.providers = [.init(id: "acme", issuer: issuer, clients: [])]
        let http = ScriptedHTTPClient { _ throws(OutboundError) in .json("{}") }
        let callback = "https://login.example/auth/acme/callback"
        for (features, message) in [
            (
                FeatureList.redirects,
                "/healthz answers; register \(callback) with the providers for sign-ins by redirect"
            ),
            (.none, "/healthz answers"),
        ] {
            let report = await Doctor(configuration, features: features, http: http).examine()
            #expect(report.findings.filter { $0.area == .publicURL }.map(\.message) == [message])
        }
    }

    @Test("An invalid certificate is a problem with the reason")
    func badCertificate() async throws {
        let failure = OutboundError(.tls, mayHaveBeenSent: false, reason: "certificate has expired")
        let findings = try await findings(.certificates, failure: failure)
        #expect(findings.map(\.severity) == [.problem])
        #expect(findings.first?.message.contains("expired") == true)
    }

    /// What the server's database knows of the network's issuer, and of the issuer that its metadata names.
    private func bind(
        _ network: String, to issuer: String, keys: String, _ trust: IssuerBinding.Trust, in sqlite: SQLiteConfiguration
    ) async throws {
        let store = try SQLStore(configuration: sqlite)
        let binding = IssuerBinding(
            issuer: issuer, jwksURI: keys, tokenHost: "login.carrier.example", hosts: ["login.carrier.example"],
            trust: trust)
        _ = try await store.bindIssuer(binding, to: network, limit: 9, at: Timestamp(secondsSinceEpoch: Self.now))
        try await store.close()
    }

    @Test("The issuer of a network is compared with the one in the database, which stays as it is")
    func knownIssuer() async throws {
        let (issuer, other) = ("https://login.carrier.example", "https://other.carrier.example")
        let good = try await findings(.metadata) { sqlite in
            try await bind("310999", to: issuer, keys: issuer + "/jwks", .confirmed, in: sqlite)
        }
        #expect(good.allSatisfy { $0.severity == .ok }, "\(good)")
        #expect(good.contains { $0.message.contains("compared with the 1 known issuer in the database") })
        let refused = try await findings(.metadata) { sqlite in
            try await bind("310999", to: other, keys: other + "/jwks", .confirmed, in: sqlite)
        }
        #expect(refused.contains { $0.severity == .problem && $0.subject.hasPrefix("310999") }, "\(refused)")
        // The issuer's own configuration confirms other keys, which a server would store.
        _ = try await findings(.metadata) { sqlite in
            try await bind("310999", to: issuer, keys: issuer + "/former", .firstUse, in: sqlite)
        } after: { sqlite in
            let store = try SQLStore(configuration: sqlite)
            #expect(try await store.knownIssuer(of: "310999", issuer).binding?.jwksURI == issuer + "/former")
            try await store.close()
        }
    }

    struct Demand: Sendable, CustomTestStringConvertible {
        /// Members of the metadata, in JSON.
        let metadata: String
        let severities: [DoctorReport.Finding.Severity]
        let says: String
        var requests = ExtensionUse.auto
        var responseMode = AuthorizationResponseMode.query
        var dpop = ExtensionUse.auto
        var signed = ExtensionUse.auto
        /// Whether the client has a private key: of P-256.
        var hasKey = false
        var requiresIssuer: Bool?
        var profile: SecurityProfile?
        /// In how many days the client's certificate expires; nil if it has none.
        var certificateDays: Int64?
        var mutualTLS = ExtensionUse.auto
        /// Whether the client's ID tokens and userinfo are encrypted, with ECDH-ES and A128GCM.
        var isEncrypted = false
        var testDescription: String {
            "\(metadata) \(requests.rawValue) \(responseMode.rawValue) \(dpop.rawValue) \(signed.rawValue) \(hasKey) "
                + "\(requiresIssuer ?? false) \(profile?.rawValue ?? "") \(mutualTLS.rawValue) \(certificateDays ?? 0) "
                + "\(isEncrypted)"
        }

        init(
            _ metadata: String, _ severity: DoctorReport.Finding.Severity?, _ says: String = "",
            par requests: ExtensionUse = .auto, _ responseMode: AuthorizationResponseMode = .query,
            dpop: ExtensionUse = .auto, signed: ExtensionUse = .auto, hasKey: Bool = false,
            requiresIssuer: Bool? = nil, profile: SecurityProfile? = nil, certificateDays: Int64? = nil,
            mtls mutualTLS: ExtensionUse = .auto, isEncrypted: Bool = false
        ) {
            self.init(
                metadata, [severity].compactMap(\.self), says, par: requests, responseMode, dpop: dpop, signed: signed,
                hasKey: hasKey, requiresIssuer: requiresIssuer, profile: profile, certificateDays: certificateDays,
                mtls: mutualTLS, isEncrypted: isEncrypted)
        }

        init(
            _ metadata: String, _ severities: [DoctorReport.Finding.Severity], _ says: String,
            par requests: ExtensionUse = .auto, _ responseMode: AuthorizationResponseMode = .query,
            dpop: ExtensionUse = .auto, signed: ExtensionUse = .auto, hasKey: Bool = false,
            requiresIssuer: Bool? = nil, profile: SecurityProfile? = nil, certificateDays: Int64? = nil,
            mtls mutualTLS: ExtensionUse = .auto, isEncrypted: Bool = false
        ) {
            self.certificateDays = certificateDays
            self.mutualTLS = mutualTLS
            self.isEncrypted = isEncrypted
            self.requiresIssuer = requiresIssuer
            self.profile = profile
            self.signed = signed
            self.hasKey = hasKey
            self.metadata = metadata
            self.severities = severities
            self.says = says
            self.requests = requests
            self.responseMode = responseMode
            self.dpop = dpop
        }
    }

    private static let requiresPushed = #""require_pushed_authorization_requests":true"#
    private static let pushEndpoint = #""pushed_authorization_request_endpoint":"https://op.example/par""#
    private static let requiresSigned = #""require_signed_request_object":true"#
    private static let none = #""x":1"#
    private static let bindsToCertificates = #""tls_client_certificate_bound_access_tokens":true"#

    static let demands: [Demand] = [
        Demand(none, nil), Demand(pushEndpoint, nil),
        Demand("\(requiresPushed),\(pushEndpoint)", .ok, "pushed, as the provider demands"),
        Demand(pushEndpoint, .ok, "pushed, because par is always", par: .always),
        Demand(requiresPushed, .problem, "pushed_authorization_request_endpoint is missing"),
        Demand(none, .problem, "set par of providers.acme to auto", par: .always),
        Demand("\(requiresPushed),\(pushEndpoint)", .problem, "par is never", par: .never),
        Demand(pushEndpoint, nil, par: .never),
        Demand(#""dpop_bound_access_tokens":true"#, .ok, "bound to a key (DPoP), as the provider demands"),
        Demand(#""dpop_bound_access_tokens":true"#, .problem, "dpop is never", dpop: .never),
        Demand(
            #""dpop_bound_access_tokens":true,"dpop_signing_alg_values_supported":["PS256"]"#, .problem,
            "does not list ES256"),
        Demand(
            #""dpop_signing_alg_values_supported":["ES256"]"#, .ok, "because dpop is always", dpop: .always),
        Demand(none, .warning, "does not have dpop_signing_alg_values_supported", dpop: .always),
        Demand(none, .warning, "set dpop of providers.acme to auto", dpop: .always),
        Demand(
            none, .warning, "bind tokens to the clients' certificates with mtls: always", dpop: .always,
            profile: .fapi2),
        Demand(
            #""dpop_signing_alg_values_supported":["PS256"]"#, .problem,
            "bind tokens to the clients' certificates with mtls: always", dpop: .always, profile: .fapi2),
        Demand(none, .problem, "without them, remove profile", par: .always, profile: .fapi2),
        Demand(none, .problem, "mtls is always, and the metadata does not have", certificateDays: 90, mtls: .always),
        Demand(
            none, .problem, "or bind tokens by DPoP", profile: .fapi2, certificateDays: 90, mtls: .always),
        Demand(bindsToCertificates, [.ok, .ok], "certificates are presented", certificateDays: 90, mtls: .always),
        Demand(bindsToCertificates, [.warning, .ok], "13 more days", certificateDays: 13),
        Demand(bindsToCertificates, [.problem, .ok], "expired on", certificateDays: -1),
        Demand(bindsToCertificates, .ok, "must be registered without", certificateDays: 90, mtls: .never),
        Demand(none, nil, certificateDays: -1),
        Demand(
            #""dpop_signing_alg_values_supported":["PS256"]"#, .problem, "set dpop of providers.acme to auto",
            dpop: .always),
        Demand(none, [.ok, .ok], "ID tokens must be encrypted with ECDH-ES and A128GCM", isEncrypted: true),
        Demand(
            #""userinfo_encryption_alg_values_supported":["ECDH-ES"],"#
                + #""userinfo_encryption_enc_values_supported":"A128GCM""#,
            [.ok, .ok], "userinfo responses must be encrypted with ECDH-ES and A128GCM", isEncrypted: true),
        Demand(
            #""userinfo_encryption_alg_values_supported":["RSA-OAEP-256"]"#, [.ok, .problem],
            "does not list ECDH-ES in userinfo_encryption_alg_values_supported", isEncrypted: true),
        Demand(
            #""userinfo_encryption_enc_values_supported":["A256GCM"]"#, [.ok, .problem],
            "set userinfo_encrypted_response_enc of the client", isEncrypted: true),
        Demand(
            #""id_token_encryption_alg_values_supported":[]"#, [.problem, .ok],
            "does not list ECDH-ES in id_token_encryption_alg_values_supported", isEncrypted: true),
        Demand(
            #""id_token_encryption_enc_values_supported":["A128CBC-HS256"]"#, [.problem, .ok],
            "does not list A128GCM in id_token_encryption_enc_values_supported", isEncrypted: true),
        Demand(#""id_token_encryption_alg_values_supported":["RSA1_5"]"#, nil),
        Demand(requiresSigned, .ok, "signed, as the provider demands", hasKey: true),
        Demand(requiresSigned, .problem, "give the client a private_key_file"),
        Demand(requiresSigned, .problem, "request_object is never", signed: .never, hasKey: true),
        Demand(
            requiresSigned + #","request_object_signing_alg_values_supported":["PS256"]"#, .problem,
            "does not list ES256", hasKey: true),
        Demand(none, .ok, "signed, because request_object is always", signed: .always, hasKey: true),
        Demand(none, nil, signed: .never), Demand(#""require_signed_request_object":false"#, nil),
        Demand(#""dpop_signing_alg_values_supported":["ES256"]"#, nil),
        Demand(#""tls_client_certificate_bound_access_tokens":true"#, .ok, "must be registered without"),
        Demand(#""response_modes_supported":["query","form_post"]"#, nil),
        Demand(#""response_modes_supported":["fragment"]"#, .problem, "Latchkey has no other response mode"),
        Demand(#""response_modes_supported":["jwt"]"#, .problem, "set response_mode of providers.acme to jwt"),
        Demand(#""response_modes_supported":["query.jwt"]"#, .ok, "must be signed", .jwt),
        Demand(#""response_modes_supported":["jwt"]"#, .ok, "must be signed", .queryJWT),
        Demand(
            #""response_modes_supported":["query","form_post.jwt"]"#, [.problem, .ok],
            "set response_mode of providers.acme to form_post.jwt", .jwt, profile: .fapi2MessageSigning),
        Demand(
            #""response_modes_supported":["query"]"#, [.problem, .ok], "the profile has no other response mode", .jwt,
            profile: .fapi2MessageSigning),
        Demand(#""response_modes_supported":["query.jwt"]"#, .problem, "to query.jwt", .formPost),
        Demand(none, .ok, "must be signed (response_mode: jwt)", .jwt),
        Demand(
            #""authorization_signing_alg_values_supported":["ES256"]"#, .problem,
            "does not list RS256 in authorization_signing_alg_values_supported", .jwt),
        Demand(
            #""response_modes_supported":["fragment","form_post"]"#, .problem, "set response_mode of providers.acme"),
        Demand(#""response_modes_supported":["query"]"#, .problem, "does not list form_post", .formPost),
        Demand(#""response_modes_supported":7"#, nil),
        Demand(none, .warning, "unless the provider sends iss all the same", requiresIssuer: true),
        Demand(none, .ok, "must be signed", .jwt, requiresIssuer: true),
        Demand(#""authorization_response_iss_parameter_supported":true"#, nil, requiresIssuer: true),
        Demand(
            #""authorization_response_iss_parameter_supported":true"#, .warning, "remove require_iss of providers.acme",
            requiresIssuer: false),
        Demand(none, nil, requiresIssuer: false),
        Demand(none, .ok, "the settings meet the profile fapi2", profile: .fapi2),
        Demand(#""code_challenge_methods_supported":["plain"]"#, .problem, "S256"),
        Demand(#""code_challenge_methods_supported":["plain","S256"]"#, nil),
        Demand(#""code_challenge_methods_supported":{}"#, nil),
        Demand(
            #""token_endpoint_auth_methods_supported":["client_secret_jwt"]"#, .problem,
            "Latchkey has no other method"),
        Demand(
            #""token_endpoint_auth_methods_supported":["private_key_jwt"]"#, .problem, "one that the provider lists"),
    ]

    @Test("What a provider demands and Latchkey lacks is a problem, in plain words", arguments: demands)
    func demand(row: Demand) async throws {
        let issuer = "https://op.example"
        let http = ScriptedHTTPClient.provider(row.metadata)
        let url = try #require(EndpointURL(issuer, policy: .httpsOnly))
        var client = Configuration.Client(id: try #require(ClientID("client-1")), secret: Secret("s3cret"))
        if row.hasKey {
            client.signingKey = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        }
        if let days = row.certificateDays {
            let end = Timestamp(secondsSinceEpoch: Self.now + days * 86_400 + 60)
            let certificate = TLSClientCertificate(
                chain: Array(TLSTexts.clientCertificate.utf8), privateKey: Secret(TLSTexts.clientKey), subject: "CN=a",
                validity: Timestamp(secondsSinceEpoch: 0)...end, isSelfIssued: false)
            client.clientTLS = ClientTLS(try #require(certificate))
        }
        if row.isEncrypted {
            let pem = P256.Signing.PrivateKey().pemRepresentation
            let decryption = ResponseDecryption(
                key: try DecryptionKey(parsing: Secret(pem)), encryption: .a128GCM)
            client.idTokenDecryption = decryption
            client.userInfoDecryption = decryption
        }
        var provider = Configuration.Provider(id: "acme", issuer: url, clients: [client])
        provider.extensions.pushedAuthorizationRequests = row.requests
        provider.rules.responseMode = row.responseMode
        provider.extensions.dpop = row.dpop
        provider.extensions.signedRequestObjects = row.signed
        provider.rules.requiresIssuer = row.requiresIssuer
        provider.profile = row.profile
        provider.extensions.mutualTLS = row.mutualTLS
        var configuration = Configuration()
        configuration.providers = [provider]
        let clock = ManualClock(secondsSinceEpoch: Self.now).wallClock
        let report = await Doctor(configuration, features: .none, networks: [], http: http, clock: clock).examine()
        let found = report.findings.filter {
            $0.area == .metadata && $0.subject.hasPrefix("acme") && !$0.message.hasPrefix("the issuer is")
                && (!$0.message.hasPrefix("the settings meet") || row.says.hasPrefix("the settings meet"))
                || $0.area == .certificates && $0.subject.contains("client")
        }
        #expect(found.map(\.severity) == row.severities, "\(found)")
        let text = found.map { $0.message + " " + ($0.remedy ?? "") }.joined()
        #expect(row.says.isEmpty || text.contains(row.says), "\(text)")
    }

    @Test(
        "The certificate that signs requests for digital credentials is examined", arguments: [(-1, 1), (400, 0)])
    func credentialCertificate(days: Int64, problems: Int) async throws {
        let issuer = try #require(EndpointURL("https://op.example", policy: .httpsOnly))
        let end = Timestamp(secondsSinceEpoch: Self.now + days * 86_400)
        let certificate = TLSClientCertificate(
            chain: Array(TLSTexts.clientCertificate.utf8), privateKey: Secret(TLSTexts.clientKey), subject: "CN=a",
            validity: Timestamp(secondsSinceEpoch: 0)...end, isSelfIssued: false)
        var mobileOperator = MobileOperatorSettings(
            name: "northwind", networks: [], apis: try #require(OperatorAPIs(root: issuer)),
            purpose: try #require(Purpose("dpv:FraudPreventionAndDetection")))
        mobileOperator.credentials = CredentialRequestRules(
            origins: ["https://shop.example"], signer: ClientTLS(try #require(certificate)), encryptionKey: "{}")
        let client = Configuration.Client(id: try #require(ClientID("client-1")), secret: Secret("s3cret"))
        var provider = Configuration.Provider(id: "number/northwind", kind: .camara, issuer: issuer, clients: [client])
        provider.mobileOperator = mobileOperator
        var configuration = Configuration()
        configuration.providers = [provider]
        let clock = ManualClock(secondsSinceEpoch: Self.now).wallClock
        let report = await Doctor(
            configuration, features: .none, networks: [], http: ScriptedHTTPClient.provider(Self.none), clock: clock
        ).examine()
        let found = report.findings.filter { $0.subject.hasSuffix("digital_credential") }
        #expect(found.count == 1 && found.filter { $0.severity == .problem }.count == problems, "\(found)")
    }

    @Test(
        "A provider without an authorization endpoint is a problem where users need browsers, and says so",
        arguments: [(.off, .problem), (.poll, .ok)]
            as [(BackchannelTokenDeliverySetting, DoctorReport.Finding.Severity)])
    func withoutBrowsers(
        _ delivery: BackchannelTokenDeliverySetting, _ severity: DoctorReport.Finding.Severity
    ) async throws {
        let ciba = "urn:openid:params:grant-type:ciba"
        let http = ScriptedHTTPClient.provider(
            #""grant_types_supported":["\#(ciba)"],"backchannel_token_delivery_modes_supported":["poll"],"#
                + #""backchannel_authentication_endpoint":"https://op.example/ciba",\#(Self.requiresPushed)"#,
            hasBrowsers: false)
        let client = Configuration.Client(id: try #require(ClientID("client-1")), secret: Secret("s3cret"))
        let issuer = try #require(EndpointURL("https://op.example", policy: .httpsOnly))
        var provider = Configuration.Provider(id: "acme", issuer: issuer, clients: [client])
        provider.rules.backchannelTokenDelivery = delivery
        var configuration = Configuration()
        configuration.providers = [provider]
        let clock = ManualClock(secondsSinceEpoch: Self.now).wallClock
        let report = await Doctor(configuration, features: .none, networks: [], http: http, clock: clock).examine()
        let found = report.findings.filter { $0.area == .metadata }
        let browsers = found.filter { $0.message.contains("no authorization_endpoint") }
        #expect(browsers.map(\.severity) == [severity], "\(found)")
        #expect(browsers.allSatisfy { $0.message.contains("sign-ins by redirects fail") })
        #expect(!found.contains { $0.message.contains("pushed") }, "\(found)")
    }

    @Test("Without a database the issuers are verified as at a first start, and the report says so")
    func noDatabase() async throws {
        let none = try await findings(.metadata)
        #expect(none.contains { $0.severity == .ok && $0.message.contains("verified as at a first start") }, "\(none)")
        let broken = try await findings(.metadata) { sqlite in
            try Data("no database".utf8).write(to: URL(fileURLWithPath: sqlite.path))
        }
        #expect(broken.contains { $0.severity == .warning && $0.message.contains("cannot be read") }, "\(broken)")
    }
}
