import Crypto
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@Suite("The configuration of providers that verify phone numbers")
struct NumberConfigurationTests {
    private static let files = [
        "key.pem": P256.Signing.PrivateKey().pemRepresentation, "one.pem": TLSTexts.clientCertificate,
        "one.key": TLSTexts.clientKey, "other.key": TLSTexts.otherKey, "expired.pem": TLSTexts.expired,
        "server.key": TLSTexts.key,
    ]

    private static func northwind(_ more: String = "", without name: String? = nil) -> String {
        let members = [
            ("name", "northwind"), ("mccmnc", "['310010', '310012']"), ("issuer", "'https://auth.northwind.example'"),
            ("api_root", "'https://api.northwind.example'"), ("client_id", "latchkey"), ("private_key_file", "key.pem"),
        ].filter { $0.0 != name }
        return "{" + members.map { "\($0.0): \($0.1)" }.joined(separator: ", ") + more + "}"
    }

    private static func provider(_ operators: [String] = [northwind()], _ more: String = "") -> String {
        "number: {kind: camara, purpose: dpv:FraudPreventionAndDetection, "
            + "redirect_uris: ['com.example.app://cb'], operators: [\(operators.joined(separator: ", "))]\(more)}"
    }

    @Test("A build without the feature refuses the kind")
    func leftOut() {
        let text = "providers: {\(Self.provider())}"
        #expect(problems(text, files: Self.files) == [])
        let found = problems(text, files: Self.files, of: FeatureList.none.settings)
        #expect(found.count == 1 && found[0].contains("needs the feature PhoneVerification"), "\(found)")
    }

    private static func found(_ text: String) -> [String] {
        problems("providers: {\(text)}", environment: needed, files: files)
    }

    @Test("Each operator is an OpenID provider with one client, under the provider's name and its own")
    func operators() throws {
        let southwind = """
            {name: southwind, issuer: 'https://id.southwind.example', api_root: 'https://southwind.example/api',
            client_id: another, private_key_file: key.pem, private_key_id: k-1, assertion_audience: issuer}
            """
        let text = Self.provider(
            [Self.northwind(), southwind],
            ", name: My number, par: always, dpop: always, request_object: always, require_iss: true, "
                + "sim_swap: {max_age_hours: 72}")
        let providers = try load("providers: {\(text)}", files: Self.files).configuration.providers
        #expect(providers.map(\.id) == ["number/northwind", "number/southwind"])
        #expect(providers.map(\.path) == ["number", "number"])
        #expect(providers.map(\.name) == ["My number", "My number"])
        #expect(providers.map(\.issuer.text) == ["https://auth.northwind.example", "https://id.southwind.example"])
        for provider in providers {
            #expect(provider.kind == .camara)
            #expect(provider.extensions.pushedAuthorizationRequests == .always)
            #expect(provider.extensions.dpop == .always)
            #expect(provider.extensions.signedRequestObjects == .always)
            #expect(provider.rules.requiresIssuer == true)
            #expect(!provider.rules.storesTokens && !provider.rules.endsSessions && !provider.rules.keepsIDTokens)
            let client = try #require(provider.clients.first)
            #expect(client.redirectURIs == ["com.example.app://cb"])
            #expect(client.pkce == .required)
            #expect(
                client.scopes == [
                    "openid", "dpv:FraudPreventionAndDetection", "number-verification:device-phone-number:read",
                ])
        }
        let operators = providers.compactMap(\.mobileOperator)
        #expect(operators.map(\.name) == ["northwind", "southwind"])
        #expect(operators.map { $0.networks.map(\.text).sorted() } == [["310010", "310012"], []])
        #expect(operators.map(\.apis.root.text) == ["https://api.northwind.example", "https://southwind.example/api"])
        #expect(operators.allSatisfy { $0.simSwap.maximumAge == 72 && $0.simSwap.ifSwapped == .refuse })
        let audiences = providers.map { provider -> ClientAssertionAudience? in
            guard case .privateKeyJWT(_, let audience)? = provider.clients.first?.authentication else { return nil }
            return audience
        }
        #expect(audiences == [.endpoint, .issuer])
    }

    @Test(
        "The SIM is checked if any key of sim_swap is given, and by default nowhere",
        arguments: [
            ("", 240, .off, .refuse), (", sim_swap: {max_age_hours: 1}", 1, .refuse, .refuse),
            (", sim_swap: {if_swapped: report}", 240, .report, .refuse),
            (", sim_swap: {if_unknown: accept}", 240, .refuse, .accept),
            (", sim_swap: {max_age_hours: 2400, if_swapped: off, if_unknown: refuse}", 2400, .off, .refuse),
        ] as [(String, Int, NumberContradiction, NumberUncertainty)])
    func simSwap(
        _ text: String, _ hours: Int, _ swapped: NumberContradiction,
        _ unknown: NumberUncertainty
    ) throws {
        let loaded = try load("providers: {\(Self.provider([Self.northwind()], text))}", files: Self.files)
        let policy = try #require(loaded.configuration.providers.first?.mobileOperator?.simSwap)
        #expect(policy.maximumAge == hours && policy.ifSwapped == swapped && policy.ifUnknown == unknown)
    }

    @Test("An operator's deployment is the provider's, where it does not say another one")
    func deployment() throws {
        let southwind = Self.northwind(
            ", api_versions: {sim_swap: v1}, api_prefix: '', headers: {x-tenant: shop}, "
                + "operator_token_prefix: '', scope_form: separate"
        ).replacing("northwind", with: "southwind").replacing("['310010', '310012']", with: "[]")
        let more =
            ", api_versions: {number_verification: v0, sim_swap: v040}, api_prefix: /aggregator/v031, "
            + "headers: {X-API-Key: 'key 1', X-Tenant: shop-1}, operator_token_prefix: 'ts43:', scope_form: combined-v0"
        let text = "providers: {\(Self.provider([Self.northwind(), southwind], more))}"
        let providers = try load(text, files: Self.files).configuration.providers
        let deployments = providers.compactMap(\.mobileOperator?.apis.deployment)
        try #require(deployments.count == 2)
        #expect(deployments.map(\.numberVerification) == ["v0", "v0"])
        #expect(deployments.map(\.simSwap) == ["v040", "v1"])
        #expect(deployments.map(\.prefix) == ["/aggregator/v031", ""])
        #expect(deployments[0].headers == ["x-api-key": Secret("key 1"), "x-tenant": Secret("shop-1")])
        #expect(deployments[1].headers == ["x-tenant": Secret("shop")])
        #expect(deployments.map(\.operatorTokenPrefix) == ["ts43:", ""])
        #expect(deployments.map(\.scopeForm) == [.combinedV0, .separate])
        #expect(
            providers.compactMap(\.clients.first?.scopes) == [
                ["openid", "dpv:FraudPreventionAndDetection#number-verification-share-read"],
                ["openid", "dpv:FraudPreventionAndDetection", "number-verification:device-phone-number:read"],
            ])
        let without = try load("providers: {\(Self.provider())}", files: Self.files).configuration
        #expect(without.providers.compactMap(\.mobileOperator?.apis.deployment) == [OperatorDeployment()])
    }

    @Test("The header fields may be in a file, and none of their values is shown")
    func headers() throws {
        let file = ["key-of-aggregator": "X-API-Key=secret-1,X-Tenant=secret-2\n"]
        let text = "providers: {\(Self.provider([Self.northwind()], ", headers_file: key-of-aggregator"))}"
        let loaded = try load(text, files: Self.files.merging(file) { $1 })
        let headers = loaded.configuration.providers.first?.mobileOperator?.apis.deployment.headers
        #expect(headers == ["x-api-key": Secret("secret-1"), "x-tenant": Secret("secret-2")])
        let shown =
            ConfigurationReference.values(of: loaded.configuration).map(\.value) + ["\(loaded.configuration)"]
        #expect(shown.allSatisfy { !$0.contains("secret-1") && !$0.contains("secret-2") })
    }

    @Test(
        "A header field that a request has already, and what is none, is refused without its value",
        arguments: [
            ("Authorization: s3cret", "that each request has already"),
            ("DPoP: s3cret", "that each request has already"),
            ("content-type: s3cret", "that each request has already"),
            ("HOST: s3cret", "that each request has already"),
            ("x-correlator: s3cret", "that each request has already"),
            ("'X Key': s3cret", "is not the name of a header"),
            ("'': s3cret", "is not the name of a header"), ("X-Key: ''", "is not the value of a header"),
            ("X-Key: ' s3cret'", "is not the value of a header"), ("X-Key: 's3cret '", "is not the value of a header"),
            (#"X-Key: "s3cret\r\nX-Other: 1""#, "is not the value of a header"),
            ("X-Key: {a: s3cret}", "is a group"), ("X-Key: s3cret, x-key: s3cret", "is given twice"),
        ])
    func wrongHeaders(_ headers: String, _ reason: String) {
        let found = Self.found(Self.provider([Self.northwind(", headers: {\(headers)}")]))
        #expect(found.count == 1 && found[0].contains(reason), "\(found)")
        #expect(!found.joined().contains("s3cret"))
    }

    @Test(
        "The end of a header field's value is not taken for a name in a message",
        arguments: ["S3cretTail=", "S3cretTail", "S3cretTail=a,S3cretTail=b"])
    func headerTail(_ tail: String) {
        let found = problems(
            "providers: {\(Self.provider([Self.northwind()], ", headers_file: key-of-aggregator"))}",
            files: Self.files.merging(["key-of-aggregator": "X-Key=s3cret,\(tail)"]) { $1 })
        #expect(found.count == 1 && found[0].contains("headers"), "\(found)")
        #expect(!found.joined().lowercased().contains("s3cret"), "\(found)")
    }

    @Test("Telco Finder asked by addresses, without their ports, is warned of")
    func portlessAddresses() throws {
        for (more, proxy, isWarned) in [
            (", by_address: true", "trusted_proxies: 10.0.0.0/8", true),
            (", by_address: true", "trusted_proxies: 10.0.0.0/8, client_port_field: x-client-port", false),
            (", by_address: true", "port: 8080", false), ("", "trusted_proxies: 10.0.0.0/8", false),
        ] {
            let text = "http: {\(proxy)}\nproviders: {\(Self.provider([Self.northwind()], Self.finder(more)))}"
            let warnings = try load(text, files: Self.files).warnings.map(\.description)
            #expect(warnings.contains { $0.contains("telco_finder.by_address") } == isWarned, "\(warnings)")
        }
    }

    private static func finder(_ more: String = "", without name: String? = nil) -> String {
        let members = [
            ("issuer", "'https://auth.finder.example'"), ("api_root", "'https://api.finder.example'"),
            ("client_id", "us"), ("private_key_file", "key.pem"),
        ].filter { $0.0 != name }
        return ", telco_finder: {" + members.map { "\($0.0): \($0.1)" }.joined(separator: ", ") + more + "}"
    }

    @Test("Telco Finder is an OpenID provider that every operator of the provider shares")
    func telcoFinder() throws {
        let southwind = Self.northwind().replacing("northwind", with: "southwind").replacing(
            "['310010', '310012']", with: "[]")
        let text = Self.provider([Self.northwind(", operator_id: NW.1"), southwind], Self.finder())
        let configuration = try load("providers: {\(text)}", files: Self.files).configuration
        #expect(configuration.providers.compactMap(\.mobileOperator?.finderID) == ["NW.1", "southwind"])
        let finder = try #require(configuration.servers.first(where: \.isTelcoFinder)?.telcoFinder)
        #expect(finder.issuer.text == "https://auth.finder.example")
        #expect(finder.finder.apis.root.text == "https://api.finder.example")
        #expect(finder.client.id.text == "us")
        guard case .privateKeyJWT(_, .endpoint) = finder.client.authentication else {
            Issue.record("another method or audience")
            return
        }
        #expect(finder.finder.scopes == ["telcofinder"] && finder.finder.portabilitySearch == .deep)
        #expect(finder.ifOtherOperator == .refuse && finder.ifUnknown == .refuse)
        let changed = Self.finder(
            ", assertion_audience: issuer, scopes: [a, b], portability_search: shallow, if_other_operator: report, "
                + "if_unknown: accept")
        let rules = try #require(
            try load("providers: {\(Self.provider([Self.northwind()], changed))}", files: Self.files).configuration
                .servers.first(where: \.isTelcoFinder)?.telcoFinder)
        #expect(rules.finder.scopes == ["a", "b"] && rules.finder.portabilitySearch == .shallow)
        #expect(rules.ifOtherOperator == .report && rules.ifUnknown == .accept)
        let without = try load("providers: {\(Self.provider())}", files: Self.files).configuration
        let finders = without.servers.filter(\.isTelcoFinder)
        #expect(finders.isEmpty)
    }

    @Test(
        "A provider without a check of the SIM is warned of, once",
        arguments: [
            ("", 1), (", sim_swap: {if_swapped: off}", 1), (", sim_swap: {if_swapped: report}", 0),
            (", sim_swap: {max_age_hours: 24}", 0),
        ])
    func simSwapWarning(_ more: String, _ count: Int) throws {
        let southwind = Self.northwind().replacing("northwind", with: "southwind").replacing(
            "['310010', '310012']", with: "[]")
        let loaded = try load(
            "providers: {\(Self.provider([Self.northwind(), southwind], more))}", files: Self.files)
        #expect(loaded.warnings.count { "\($0)".contains("number has no sim_swap") } == count)
    }

    @Test(
        "An invalid provider of numbers is reported with the reason",
        arguments: [
            ("number: {kind: camara, operators: [\(northwind())]}", "has no purpose"),
            ("number: {kind: camara, purpose: fraud, operators: [\(northwind())]}", "is not a purpose"),
            ("number: {kind: camara, purpose: dpv:X}", "has no operators"),
            ("number: {kind: camara, purpose: dpv:X, operators: northwind}", "is a single value"),
            ("number: {kind: camara, purpose: dpv:X, operators: [northwind]}", "is a single value"),
            (provider([northwind(without: "name")]), "has no name"),
            (provider([northwind(without: "issuer")]), "has no issuer"),
            (provider([northwind(without: "api_root")]), "has no api_root"),
            (provider([northwind(without: "client_id")]), "has no client_id"),
            (provider([northwind(without: "private_key_file")]), "has no private_key"),
            (provider([northwind(", secret: s")]), "there is no such key"),
            (provider([northwind(", private_key_alg: RS256")]), "cannot sign with"),
            (provider([northwind(without: "name").replacing("{", with: "{name: 'a/b', ")]), "is not the name"),
            (
                provider([northwind(without: "mccmnc").replacing("{", with: "{mccmnc: ['31001a'], ")]),
                "is not an mccmnc"
            ),
            (
                provider([northwind(without: "api_root").replacing("{", with: "{api_root: 'http://a.example', ")]),
                "is plain http"
            ),
            (
                provider([northwind(without: "api_root").replacing("{", with: "{api_root: 'https://a.example?b', ")]),
                "has a query"
            ),
            (provider([northwind()], ", sim_swap: {max_age_hours: 2401}"), "2401"),
            (provider([northwind()], finder(without: "issuer")), "has no telco_finder.issuer"),
            (provider([northwind()], finder(without: "api_root")), "has no telco_finder.api_root"),
            (provider([northwind()], finder(without: "client_id")), "has no telco_finder.client_id"),
            (provider([northwind()], finder(without: "private_key_file")), "has no telco_finder.private_key"),
            (provider([northwind()], finder(", portability_search: far")), "is not one of its words"),
            (provider([northwind()], finder(", if_unknown: report")), "is not one of its words"),
            (
                provider([
                    northwind(),
                    northwind(", operator_id: northwind").replacing("name: northwind", with: "name: other").replacing(
                        "auth.northwind", with: "auth.other"
                    ).replacing("['310010', '310012']", with: "[]"),
                ]), "has the operator_id of another"
            ),
            (
                "acme: {kind: oidc, issuer: 'https://acme.example', clients: 'a:b'\(finder())}",
                "telco_finder: is a setting of kind camara;"
            ),
            (provider([northwind()], ", sim_swap: {if_swapped: maybe}"), "is not one of its words"),
            (provider([northwind()], ", api_versions: v1"), "is a single value"),
            (provider([northwind()], ", api_versions: {number_verification: v3}"), "is not a version"),
            (provider([northwind()], ", api_versions: {number_verification: 2}"), "is not a version"),
            (provider([northwind()], ", api_versions: {sim_swap: v04}"), "is not a version"),
            (provider([northwind()], ", api_versions: {sim_swap: v0400}"), "is not a version"),
            (provider([northwind()], ", api_versions: {sim_swap: v1/..}"), "is not a version"),
            (provider([northwind()], ", api_prefix: aggregator"), "is not the beginning of a path"),
            (provider([northwind()], ", api_prefix: /"), "is not the beginning of a path"),
            (provider([northwind()], ", api_prefix: /aggregator/"), "is not the beginning of a path"),
            (provider([northwind()], ", api_prefix: //evil.example"), "is not the beginning of a path"),
            (provider([northwind()], ", api_prefix: /a/../b"), "is not the beginning of a path"),
            (provider([northwind()], ", api_prefix: '/a?b'"), "is not the beginning of a path"),
            (provider([northwind()], ", api_prefix: '/a%2Fb'"), "is not the beginning of a path"),
            (provider([northwind()], ", operator_token_prefix: 'a b'"), "is not a prefix"),
            (provider([northwind()], ", operator_token_prefix: 'tel:'"), "is not a prefix"),
            (provider([northwind()], ", operator_token_prefix: 'TEL:+'"), "is not a prefix"),
            (provider([northwind()], ", operator_token_prefix: 'phone:'"), "is not a prefix"),
            (provider([northwind()], ", operator_token_prefix: 'ipport:'"), "is not a prefix"),
            (provider([northwind()], ", operator_token_prefix: '+'"), "is not a prefix"),
            (
                provider([northwind()], ", operator_token_prefix: \(String(repeating: "a", count: 65))"),
                "is not a prefix"
            ),
            (provider([northwind()], ", scope_form: joined"), "is not one of its words"),
            (
                "acme: {kind: oidc, issuer: 'https://acme.example', clients: 'a:b', headers: {X-Key: a}}",
                "is a setting of kind camara or aggregator;"
            ),
            (
                provider([northwind()], ", issuer: 'https://a.example'"),
                "issuer: is a setting of kind oidc or oauth2 or aggregator;"
            ),
            (provider([northwind()], ", clients: 'a:b'"), "clients: is a setting of kind oidc or oauth2;"),
            (provider([northwind()], ", store_tokens: true"), "store_tokens: is a setting of kind oidc or oauth2;"),
            (provider([northwind()], ", response_mode: jwt"), "response_mode: is a setting of kind oidc or oauth2;"),
            (provider([northwind()], ", profile: fapi2"), "profile: is a setting of kind oidc;"),
            (
                provider(
                    [
                        northwind(),
                        northwind().replacing("northwind", with: "southwind").replacing(
                            "['310010', '310012']", with: "[]"),
                    ], ", id_token_types: []"), "providers.number.id_token_types: is empty"
            ),
            (provider([northwind()], ", backchannel_logout: off"), "backchannel_logout: is a setting of kind oidc;"),
            (provider([northwind()], ", id_token_hint: off"), "id_token_hint: is a setting of kind oidc;"),
            (
                provider([northwind()], ", initiate_login_client: a"),
                "initiate_login_client: is a setting of kind oidc;"
            ),
            (
                "acme: {kind: oidc, issuer: 'https://acme.example', clients: 'a:b', purpose: dpv:X}",
                "is a setting of kind camara;"
            ),
            (
                "acme: {kind: oidc, issuer: 'https://acme.example', clients: 'a:b', sim_swap: {if_swapped: off}}",
                "is a setting of kind camara;"
            ),
        ])
    func wrong(_ text: String, _ reason: String) {
        let found = Self.found(text)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    private static let numbers =
        #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#

    /// The settings of digital credentials, with other values.
    private static func credentials(_ changes: [String: String?] = [:]) -> String {
        var values: [String: String?] = [
            "origins": "['https://shop.example']", "certificate_file": "one.pem", "certificate_key_file": "one.key",
            "encryption_key": #"'{"kty":"EC","crv":"P-256","kid":"k-1",\#(numbers)}'"#,
        ]
        values.merge(changes) { $1 }
        let members = values.compactMap { name, value in value.map { "\(name): \($0)" } }
        return ", digital_credential: {\(members.sorted().joined(separator: ", "))}"
    }

    @Test("Phones are asked for digital credentials of an operator that says how, and of no other one")
    func digitalCredentials() throws {
        let southwind = Self.northwind().replacing("northwind", with: "southwind").replacing(
            "['310010', '310012']", with: "[]")
        let more = Self.credentials(["consent": "Sign in"])
        let text = "providers: {\(Self.provider([Self.northwind(more), southwind]))}"
        let loaded = try load(text, files: Self.files)
        let operators = loaded.configuration.providers.compactMap(\.mobileOperator)
        try #require(operators.count == 2)
        let rules = try #require(operators[0].credentials)
        #expect(operators[1].credentials == nil)
        #expect(rules.origins == ["https://shop.example"] && rules.consent == "Sign in")
        #expect(rules.signer.certificate.subject.hasPrefix("CN="))
        #expect(
            rules.encryptionKey
                == #"{"kty":"EC","crv":"P-256",\#(Self.numbers),"kid":"k-1","use":"enc","alg":"ECDH-ES"}"#)
        // The certificate is not the client's.
        #expect(loaded.configuration.providers[0].clients[0].clientTLS == nil)
        #expect(!loaded.warnings.contains { $0.reason.contains("digital_credential") }, "\(loaded.warnings)")
    }

    @Test(
        "What of the settings of digital credentials is missing or wrong is reported",
        arguments: [
            (["origins": nil], "has no digital_credential.origins"),
            (["certificate_file": nil], "has no digital_credential.certificate_file"),
            (["certificate_key_file": nil], "has no digital_credential.certificate_key"),
            (["encryption_key": nil], "has no digital_credential.encryption_key"),
            (["origins": "['shop.example']"], "is not the origin of a page or of an app"),
            (["certificate_key_file": "other.key"], "digital_credential.certificate_file: "),
            (["certificate_file": "none.pem"], "the file none.pem does not exist"),
            (["encryption_key": "abc"], "is not a public JSON Web Key of P-256"),
            (["encryption_key": #"'{"kty":"EC","crv":"P-256","d":"x",\#(numbers)}'"#], "is not a public JSON Web Key"),
            (["encryption_key": #"'{"kty":"EC","crv":"P-384",\#(numbers)}'"#], "is not a public JSON Web Key"),
        ] as [([String: String?], String)])
    func wrongCredentials(_ changes: [String: String?], _ reason: String) {
        let found = Self.found(Self.provider([Self.northwind(Self.credentials(changes))]))
        #expect(found.count == 1 && found[0].contains(reason), "\(found)")
    }

    @Test("A certificate that has expired, and a prefix by which credentials come unchecked, are warnings")
    func credentialWarnings() throws {
        let expired = Self.credentials(["certificate_file": "expired.pem", "certificate_key_file": "server.key"])
        let rows = [
            (Self.northwind(expired), "the certificate of digital_credential of number/northwind expired on"),
            (Self.northwind(", operator_token_prefix: 'vp_token:'"), "nothing checks the digital credentials"),
        ]
        for (text, warning) in rows {
            let loaded = try load("providers: {\(Self.provider([text]))}", files: Self.files)
            #expect(loaded.warnings.filter { $0.reason.contains(warning) }.count == 1, "\(loaded.warnings)")
        }
    }

    @Test("Operators that a request could not tell apart are refused")
    func doubles() {
        let same = Self.found(Self.provider([Self.northwind(), Self.northwind()]))
        for reason in ["the name of another", "the issuer of another", "310010 of another", "310012 of another"] {
            #expect(same.contains { $0.contains(reason) }, "\(reason): \(same)")
        }
    }

    @Test("No key of an operator is shown")
    func secrets() throws {
        let loaded = try load("providers: {\(Self.provider())}", files: Self.files)
        let shown = ConfigurationReference.values(of: loaded.configuration).first { $0.key == "providers" }
        #expect(shown?.value == "number/northwind (camara)")
    }
}
