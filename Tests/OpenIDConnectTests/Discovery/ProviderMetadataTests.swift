import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct ProviderMetadataTests {
    struct MetadataCase: Sendable, CustomTestStringConvertible {
        let field: String
        let json: String?
        var testDescription: String { "\(field) \(json ?? "absent")" }
    }

    private func error(for row: MetadataCase, network: String = "310999") async throws -> OIDCError? {
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with(row.field, row.json).text) }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects(network: network)
        return await failure { () throws(OIDCError) in try await relyingParty.provider(subjects) }
    }

    @Test(
        "A required URL that is missing or not acceptable is refused, whichever it is",
        arguments: ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"],
        [
            nil, "null", "1", "[]", "[\"https://login.carrier.example/x\"]", "\"\"", "\"/relative\"",
            "\"http://login.carrier.example/x\"",
            "\"https://evil.example/x\"", "\"https://carrier.example/x\"",
            "\"https://login.carrier.example.evil.example/x\"",
            "\"https://user@login.carrier.example/x\"", "\"https://login.carrier.example/x#f\"",
            "\"https://127.0.0.1/x\"",
            "\"https://169.254.169.254/x\"", "\"https://[::1]/x\"", "\"file:///etc/passwd\"",
            "\"gopher://login.carrier.example/\"",
            "\"http://127.0.0.1/x\"",
        ] as [String?])
    func requiredURLs(_ field: String, _ json: String?) async throws {
        #expect(try await error(for: MetadataCase(field: field, json: json))?.code == .metadataRefused)
    }

    @Test(
        "An optional endpoint may be absent, but not wrong",
        arguments: ["userinfo_endpoint", "server_initiated_authorization_endpoint"])
    func optionalURLs(_ field: String) async throws {
        for json in [nil, "null", "\"https://login.carrier.example/x\""] {
            #expect(try await error(for: MetadataCase(field: field, json: json)) == nil)
        }
        for json in ["\"http://login.carrier.example/x\"", "\"https://evil.example/\"", "1", "\"\"", "[]"] {
            #expect(try await error(for: MetadataCase(field: field, json: json))?.code == .metadataRefused)
        }
    }

    @Test(
        "A list must contain the value that a sign-in needs",
        arguments: [
            (
                "id_token_signing_alg_values_supported",
                ["[\"none\"]", "[]", "[\"HS256\",\"ES256K\"]", "[\"PS256\"]", "[1]", "{}", "true"]
            ),
            ("response_types_supported", ["[]", "[\"id_token\"]", "[\"code id_token\"]", "\"token\"", "[null]"]),
            ("token_endpoint_auth_methods_supported", ["5", "[1]", "{}"]),
            ("token_endpoint_auth_signing_alg_values_supported", ["5", "[null]"]),
            ("mccmnc", ["310998", "\"310998\"", "310999.5", "[310999]", "true", "\"0310999\"", "{}"]),
            ("issuer", ["\"\(TokenDraft.issuer)?x=1\""]),
        ])
    func depended(_ field: String, _ values: [String]) async throws {
        for json in values {
            #expect(
                try await error(for: MetadataCase(field: field, json: json))?.code == .metadataRefused,
                "\(field) \(json)")
        }
    }

    @Test(
        "Optional lists, and lists in other forms, are accepted",
        arguments: [
            ("id_token_signing_alg_values_supported", [nil, "null", "\"RS256\"", "[\"none\",\"ES256\"]"]),
            ("response_types_supported", [nil, "null", "\"code\"", "[\"id_token\",\"code\"]"]),
            ("token_endpoint_auth_methods_supported", [nil, "null", "\"client_secret_basic\"", "[\"unknown\"]"]),
            ("grant_types_supported", [nil, "\"authorization_code\"", "[]", "7"]),
            ("mccmnc", [nil, "null", "310999", "\"310999\"", "310999.0"]),
            ("unknown_member", ["{\"x\":[1]}"]),
        ] as [(String, [String?])])
    func accepted(_ field: String, _ values: [String?]) async throws {
        for json in values {
            #expect(try await error(for: MetadataCase(field: field, json: json)) == nil, "\(field) \(json ?? "absent")")
        }
    }

    @Test(
        "Only a provider that supports no grant type of the authorization endpoint may have none (RFC 8414 section 2)",
        arguments: [
            ("[\"urn:openid:params:grant-type:ciba\"]", nil, true),
            ("[\"client_credentials\",\"urn:x\"]", "null", true), ("[]", nil, true),
            ("[\"urn:openid:params:grant-type:ciba\"]", "\"https://evil.example/x\"", false),
            ("[\"urn:openid:params:grant-type:ciba\"]", "\"\"", false),
            ("[\"authorization_code\",\"urn:openid:params:grant-type:ciba\"]", nil, false),
            ("[\"implicit\"]", nil, false), (nil, nil, false), ("7", nil, false),
        ] as [(String?, String?, Bool)])
    func withoutAuthorizationEndpoint(_ grantTypes: String?, _ json: String?, isAccepted: Bool) async throws {
        let metadata = FakeCarrier.metadata.with("grant_types_supported", grantTypes)
            .with("authorization_endpoint", json).with("response_types_supported", isAccepted ? "[]" : nil)
        let carrier = FakeCarrier { $0.discovery = .json(metadata.text) }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        guard isAccepted else {
            let error = await failure { () throws(OIDCError) in try await relyingParty.provider(subjects) }
            #expect(error?.code == .metadataRefused)
            return
        }
        let provider = try await relyingParty.provider(subjects)
        #expect(provider.authorizationEndpoint == nil)
    }

    @Test("A network with leading zeros may come as a number, which has none")
    func leadingZeros() async throws {
        #expect(try await error(for: MetadataCase(field: "mccmnc", json: "101"), network: "00101") == nil)
        #expect(try await error(for: MetadataCase(field: "mccmnc", json: "\"00101\""), network: "00101") == nil)
        #expect(
            try await error(for: MetadataCase(field: "mccmnc", json: "\"101\""), network: "00101")?.code
                == .metadataRefused)
    }

    @Test("Plain http to loopback is accepted if that is allowed")
    func loopback() async throws {
        let base = "http://127.0.0.1:9/m/310999"
        var metadata = FakeCarrier.metadata
        for (field, path) in [
            ("issuer", ""), ("authorization_endpoint", "/a"), ("token_endpoint", "/t"), ("userinfo_endpoint", "/u"),
            ("jwks_uri", "/j"),
        ] {
            metadata[field] = "\"\(base)\(path)\""
        }
        let text = metadata.text
        let carrier = FakeCarrier { $0.discovery = .json(text) }
        let relyingParty = try carrier.relyingParty {
            $0.urlPolicy = .allowLoopbackHTTP
            $0.trustedHosts = TrustedHosts(["127.0.0.1"].compactMap(TrustedHosts.Pattern.init))
        }
        #expect(try await relyingParty.provider(SignInSubjects()).issuer == base)
    }

    @Test("A document with a member twice is refused")
    func duplicateMember() async throws {
        var metadata = FakeCarrier.metadata
        metadata.add("token_endpoint", "\"https://login.carrier.example/other\"")
        let text = metadata.text
        let carrier = FakeCarrier { $0.discovery = .json(text) }
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        #expect(
            await failure { () throws(OIDCError) in try await relyingParty.provider(subjects) }?.code
                == .unusableResponse
        )
    }
}
