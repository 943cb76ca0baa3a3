import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import OutboundHTTP
import Primitives
import SignIn
import TestSupport
import Testing

/// Clients that authenticate by a TLS certificate, and tokens that are bound to it (RFC 8705), over real TLS. The
/// simulator refuses a request without the right certificate.
@Suite(.serialized) struct MutualTLSTests {
    typealias Holder = IssuedCertificates.Holder

    /// The provider `acme` with one client, as an operator writes it.
    struct Setting: Sendable {
        var client = "certificate_file: one.pem, certificate_key_file: one.key"
        var settings = ["mtls: always"]
    }

    typealias Registration = @Sendable (IssuedCertificates) throws -> CarrierSimulator.Client.Authentication

    private static let firstClient: Registration = { _ in .tlsClientAuth(subject: "CN=one") }

    /// - Parameter registered: How the provider knows the client.
    private func with(
        _ setting: Setting = Setting(), hasAliases: Bool = true, isBinding: Bool = true,
        registered: Registration = firstClient,
        _ body: (ProviderWalk, IssuedCertificates) async throws -> Void
    ) async throws {
        let certificates = try await IssuedCertificates.make()
        func credentials(_ clients: TLSCredentials.Clients) throws -> TLSCredentials {
            TLSCredentials(
                certificateChain: Array(try certificates.text(certificates.certificate(.server)).utf8),
                privateKey: Secret(try certificates.text(certificates.key(.server))), clients: clients,
                // A self-signed certificate is its own authority.
                clientAuthorities: Array(
                    (try certificates.text(certificates.authority)
                        + certificates.text(certificates.certificate(.selfSigned))).utf8))
        }
        let authentication = try registered(certificates)
        // The resource is on the main listener.
        let encryption = CarrierSimulator.Encryption(
            main: try credentials(.optional), alias: hasAliases ? try credentials(.optional) : nil)
        try await ProviderWalk.with(
            configure: { configuration in
                configuration.outbound.certificateAuthorities = certificates.authority
                configuration.encryptionKeys = EncryptionKey.of(ResourceHarness.key)
                let issuer = configuration.providers[0].issuer
                do {
                    configuration.providers[0] = try Self.provider(setting, issuer, certificates)
                } catch {
                    Issue.record("the configuration is refused: \(error)")
                }
            }, register: { $0.authentication = authentication }, encryption: encryption
        ) { walk in
            let plain = "http://127.0.0.1:\(walk.harness.running.addresses[0].port)/providers/acme/authorize"
            walk.harness.simulator.update("acme") {
                $0.authenticationMethods = [authentication.name]
                $0.bindsTokensToCertificates = isBinding
                // The test's browser has no TLS.
                $0.tampering.objects[.discovery, default: []].append { $0["authorization_endpoint"] = .string(plain) }
            }
            try await body(walk, certificates)
        }
    }

    private static func provider(
        _ setting: Setting, _ issuer: EndpointURL, _ certificates: IssuedCertificates
    ) throws -> Configuration.Provider {
        try #require(try load(setting, issuer, certificates).configuration.providers.first)
    }

    private static func load(
        _ setting: Setting, _ issuer: EndpointURL, _ certificates: IssuedCertificates
    ) throws -> LoadedConfiguration {
        let text = """
            allow_loopback_http: true
            encryption_keys: '\(ResourceHarness.key)'
            providers:
              acme:
                kind: oidc
                issuer: \(issuer.text)
                store_tokens: true
                resources: {zak: {url: '\(issuer.text)/v2/users/me/token?type=zak'}}
                \(setting.settings.joined(separator: "\n    "))
                clients:
                  - {id: \(SignInHarness.clientID), \(setting.client),
                     redirect_uris: ['\(ProviderWalk.webURI)', '\(SignInHarness.redirectURI)']}
            """
        var contents = ["latchkey.yaml": text]
        for holder in certificates.holders {
            contents["\(holder.rawValue).pem"] = try certificates.text(certificates.certificate(holder))
            contents["\(holder.rawValue).key"] = try certificates.text(certificates.key(holder))
        }
        let reader = FileReader { [contents] (path, _) throws(FileReader.ReadError) in
            guard let content = contents[path] else { throw .notFound }
            return FileReader.Contents(bytes: Array(content.utf8), isReadableByAll: false)
        }
        return try ConfigurationLoader(files: reader).load(
            file: "latchkey.yaml", environment: [:], purpose: .operation)
    }

    /// The certificate of the client that is configured.
    private func clientTLS(_ walk: ProviderWalk) throws -> ClientTLS {
        try #require(walk.harness.configuration.providers[0].clients[0].clientTLS)
    }

    private static func certificate(_ holder: Holder, _ certificates: IssuedCertificates) throws -> TLSClientCertificate
    {
        let provider = try provider(
            Setting(client: "certificate_file: \(holder.rawValue).pem, certificate_key_file: \(holder.rawValue).key"),
            try #require(EndpointURL("https://acme.example", policy: .httpsOnly)), certificates)
        return try #require(provider.clients[0].clientTLS?.certificate)
    }

    private func entries(
        _ walk: ProviderWalk, _ endpoints: CarrierSimulator.RequestLog.Endpoint...
    ) -> [CarrierSimulator.RequestLog.Entry] {
        walk.harness.simulator.log.entries.filter { endpoints.contains($0.endpoint) && $0.mccmnc == "acme" }
    }

    private func fetch(_ walk: ProviderWalk, _ browser: Browser) async throws -> Browser.Page {
        try await browser.get(walk.origin + "/auth/acme/resources/zak")
    }

    @Test(
        "A sign-in by redirects, userinfo, a resource and a refresh present the certificate, and nothing else does",
        arguments: [true, false])
    func signsIn(hasAliases: Bool) async throws {
        try await with(Setting(settings: ["par: always", "mtls: always"]), hasAliases: hasAliases) { walk, _ in
            let browser = Browser()
            let done = try await walk.signIn(browser, at: "acme", ["scope": "openid email"])
            #expect(done.parameters["status"] == "success", "\(done.location)")
            #expect(try await fetch(walk, browser).text == #"{"token":"zak-of-jane"}"#)
            walk.harness.simulator.expireAccessTokens(at: "acme")
            #expect(try await fetch(walk, browser).text == #"{"token":"zak-of-jane"}"#)
            let tokens = entries(walk, .token)
            #expect(tokens.map { $0["grant_type"] } == ["authorization_code", "refresh_token"])
            #expect(
                tokens.allSatisfy { $0["client_id"] != nil && $0["client_secret"] == nil && $0.authorization == nil })
            let authenticated = entries(walk, .pushedAuthorization, .token, .userInfo)
            #expect(authenticated.count == 4 && authenticated.allSatisfy { $0.certificate == "CN=one" })
            #expect(entries(walk, .resource).allSatisfy { $0.certificate == "CN=one" })
            #expect(entries(walk, .configuration, .keys).allSatisfy { $0.certificate == nil })
            let hosts = Set(authenticated.map { $0.host?.prefix { $0 != ":" } })
            #expect(hosts == [hasAliases ? "localhost" : "127.0.0.1"])
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var setting = Setting()
        var isBinding = true
        var registered: Registration = MutualTLSTests.firstClient
        let says: String
        var tokenRequests = 1
    }

    @Test(
        "A certificate that is not the client's, or none, signs nobody in",
        arguments: [
            Row(
                testDescription: "another certificate of the same authority",
                setting: Setting(client: "certificate_file: two.pem, certificate_key_file: two.key"), says: ""),
            Row(
                testDescription: "an expired certificate",
                setting: Setting(client: "certificate_file: expired.pem, certificate_key_file: expired.key"), says: "",
                tokenRequests: 0),
            Row(
                testDescription: "a self-signed certificate that is not registered",
                setting: Setting(client: "certificate_file: selfSigned.pem, certificate_key_file: selfSigned.key"),
                registered: { _ in .selfSignedTLSClientAuth(fingerprint: String(repeating: "0", count: 64)) },
                says: ""),
            Row(
                testDescription: "a provider that does not say that it binds tokens", isBinding: false,
                says: "tls_client_certificate_bound_access_tokens", tokenRequests: 0),
        ])
    func refused(row: Row) async throws {
        try await with(row.setting, isBinding: row.isBinding, registered: row.registered) { walk, _ in
            let answer = try await walk.harness.app.send(
                "POST", "/auth/acme/sign-in", headers: ["Content-Type: application/json"],
                body: App.json(try walk.code(at: "acme")))
            #expect(answer.status >= 400 && answer.token == nil, "\(answer.response.text)")
            #expect(row.says.isEmpty || answer.response.text.contains(row.says), "\(answer.response.text)")
            #expect(entries(walk, .token).count == row.tokenRequests)
        }
    }

    @Test("A self-signed certificate signs in where it is registered, and is published")
    func selfSigned() async throws {
        let setting = Setting(client: "certificate_file: selfSigned.pem, certificate_key_file: selfSigned.key")
        let registration: Registration = { certificates in
            let thumbprint = try Self.certificate(.selfSigned, certificates).thumbprint
            return .selfSignedTLSClientAuth(fingerprint: (Base64URL.decode(thumbprint) ?? []).hexadecimal)
        }
        try await with(setting, registered: registration) { walk, _ in
            let done = try await walk.signIn(Browser(), at: "acme")
            #expect(done.parameters["status"] == "success", "\(done.location)")
            let client = walk.harness.configuration.providers[0].clients[0]
            #expect(client.authentication.method == .selfSignedTLSClientAuth)
            let published = try await walk.harness.app.send("GET", "/.well-known/jwks.json").response.text
            let thumbprint = try clientTLS(walk).certificate.thumbprint
            #expect(published.contains(#""x5t#S256":"\#(thumbprint)","x5c":["MII"#), "\(published)")
        }
    }

    @Test("A token is good with its own certificate only, and a renewed certificate gets new tokens")
    func boundTokens() async throws {
        try await with { walk, certificates in
            let browser = Browser()
            let done = try await walk.signIn(browser, at: "acme")
            #expect(done.parameters["status"] == "success", "\(done.location)")
            let simulator = walk.harness.simulator
            let token = try #require(simulator.issuedTokens(at: "acme").first)
            var configuration = OutboundHTTPConfiguration()
            configuration.addressPolicy = AddressPolicy(allowLoopback: true)
            configuration.caBundle = certificates.authority
            let client = try OutboundHTTPClient(configuration)
            let port = walk.harness.running.addresses[2].port
            let url = try #require(
                EndpointURL("https://localhost:\(port)/providers/acme/userinfo", policy: .httpsOnly))
            for (holder, status) in [(Holder.one, 200), (.two, 401), (nil, 401)] as [(Holder?, Int)] {
                var request = OutboundRequest(
                    method: .get, url: url, headers: [("Authorization", "Bearer \(token)")], timeout: .seconds(20),
                    maximumBodyBytes: 65_536)
                request.clientTLS = try holder.map { ClientTLS(try Self.certificate($0, certificates)) }
                #expect(try await client.send(request).status == status, "\(String(describing: holder))")
            }
            await client.shutdown()
        }
        try await with(hasAliases: false) { walk, certificates in
            let browser = Browser()
            try await walk.signIn(browser, at: "acme")
            #expect(try await fetch(walk, browser).status == 200)
            try clientTLS(walk).replace(with: try Self.certificate(.expired, certificates))
            #expect(try await fetch(walk, browser).status >= 400)
            try clientTLS(walk).replace(with: try Self.certificate(.one, certificates))
            #expect(try await fetch(walk, browser).status == 200)
        }
    }

    @Test("A reload presents a new certificate, unless it has expired")
    func reload() async throws {
        try await with(hasAliases: false) { walk, certificates in
            let issuer = walk.harness.configuration.providers[0].issuer
            var subjects: [String] = []
            for (holder, subject) in [(Holder.two, "CN=two"), (.expired, "CN=two"), (.one, "CN=one")] {
                let files = "certificate_file: \(holder.rawValue).pem, certificate_key_file: \(holder.rawValue).key"
                walk.harness.service.reload(try Self.load(Setting(client: files), issuer, certificates))
                _ = try await walk.harness.app.send(
                    "POST", "/auth/acme/sign-in", headers: ["Content-Type: application/json"],
                    body: App.json(try walk.code(at: "acme")))
                // Each is a request at the provider, which a connection with an expired certificate would not reach.
                subjects.append(subject)
                #expect(entries(walk, .token).map(\.certificate) == subjects, "\(holder)")
            }
        }
    }

    @Test("An alias that is not acceptable is not replaced by the usual endpoint")
    func badAlias() async throws {
        try await with { walk, _ in
            walk.harness.simulator.update("acme") {
                $0.tampering.objects[.discovery, default: []].append {
                    $0["mtls_endpoint_aliases"] = ["token_endpoint": "http://elsewhere.example/token"]
                }
            }
            let answer = try await walk.harness.app.send(
                "POST", "/auth/acme/sign-in", headers: ["Content-Type: application/json"],
                body: App.json(try walk.code(at: "acme")))
            #expect(answer.response.text.contains("mtls_endpoint_aliases.token_endpoint"), "\(answer.response.text)")
            #expect(entries(walk, .token).isEmpty)
        }
    }
}
