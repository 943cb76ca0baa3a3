import Primitives
import Testing

@testable import OpenIDConnect

@Suite("The issuer that metadata may name")
struct IssuerPinsTests {
    private func url(_ text: String) throws -> EndpointURL { try #require(EndpointURL(text, policy: .httpsOnly)) }

    private func network(_ text: String) throws -> MetadataSource {
        .network(try #require(MCCMNC(text)), at: try url("https://discovery.example/"))
    }

    private func pins(_ configured: [String: String] = [:]) throws -> IssuerPins {
        var configuration = RelyingParty.Configuration(discoveryURL: try url("https://discovery.example/"))
        configuration.trustedHosts = TrustedHosts(["*.a.example", "*.b.example"].compactMap(TrustedHosts.Pattern.init))
        for (network, issuer) in configured { configuration.pinnedIssuers[try #require(MCCMNC(network))] = issuer }
        return IssuerPins(configuration)
    }

    private func metadata(
        issuer: String = "https://id.a.example", token: String = "https://id.a.example/token",
        keys: String = "https://id.a.example/jwks"
    ) throws -> ProviderMetadata {
        ProviderMetadata(
            issuer: issuer, authorizationEndpoint: try url("https://id.a.example/authorize"),
            tokenEndpoint: try url(token), userInfoEndpoint: nil, jwksURI: try url(keys), userEndpoint: nil,
            backchannelAuthenticationEndpoint: nil, signingAlgorithms: [], clientAuthenticationMethods: nil,
            assertionAlgorithms: nil, namesIssuerInResponses: false, endSessionEndpoint: nil)
    }

    private func isAccepted(
        _ pins: inout IssuerPins, _ source: MetadataSource, _ metadata: ProviderMetadata,
        _ others: [ProviderMetadata] = []
    ) -> Bool {
        do throws(OIDCError) {
            try pins.pin(source, to: metadata, others: others)
            return true
        } catch {
            #expect(error.code == .metadataRefused)
            return false
        }
    }

    @Test("is the one first seen for a network, and stays it")
    func firstSeen() throws {
        var pins = try pins()
        let other = try metadata(issuer: "https://id2.a.example")
        #expect(isAccepted(&pins, try network("310001"), try metadata()))
        #expect(!isAccepted(&pins, try network("310001"), other))
        #expect(isAccepted(&pins, try network("310001"), try metadata()))
        #expect(isAccepted(&pins, try network("310002"), other))
    }

    @Test("is the configured one, whatever the hosts of the endpoints")
    func configured() throws {
        var pins = try pins(["310001": "https://id.a.example"])
        #expect(!isAccepted(&pins, try network("310001"), try metadata(issuer: "https://id2.a.example")))
        #expect(isAccepted(&pins, try network("310001"), try metadata(keys: "https://id.b.example/jwks")))
    }

    @Test("is the issuer that serves the metadata itself (Discovery section 4.3)")
    func itself() throws {
        var pins = try pins()
        #expect(isAccepted(&pins, .issuer(try url("https://id.a.example")), try metadata()))
        #expect(!isAccepted(&pins, .issuer(try url("https://id.b.example")), try metadata()))
    }

    @Test("is not one of another operator")
    func operators() throws {
        var pins = try pins()
        for row in [
            try metadata(token: "https://id.b.example/token"), try metadata(keys: "https://id.b.example/jwks"),
            try metadata(issuer: "https://id.b.example"), try metadata(issuer: "no url"),
        ] {
            #expect(!isAccepted(&pins, try network("310001"), row))
        }
        // A refused document pins no issuer.
        #expect(isAccepted(&pins, try network("310001"), try metadata()))
    }

    @Test("is not one whose other networks name other keys")
    func otherKeys() throws {
        let others = [
            try metadata(), try metadata(issuer: "https://id2.a.example", keys: "https://id.a.example/other"),
        ]
        var pins = try pins()
        #expect(!isAccepted(&pins, try network("310001"), try metadata(keys: "https://id.a.example/mine"), others))
        #expect(isAccepted(&pins, try network("310001"), try metadata(), others))
    }
}
