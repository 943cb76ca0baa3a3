import Primitives

@testable import OpenIDConnect

/// The bytes as a discovery document, as an issuer's OpenID configuration, and as discovery's error response.
enum MetadataTarget {
    static let requirements = ProviderMetadata.Requirements(
        urlPolicy: .allowLoopbackHTTP,
        trustedHosts: TrustedHosts(
            ["*.carrier.example", "carrier.example", "127.0.0.1", "::1"].compactMap(TrustedHosts.Pattern.init)),
        signingAlgorithms: SigningAlgorithm.standard, endpoints: [:], tenants: nil)

    static func read(_ bytes: [UInt8]) {
        JSONPromise.value(bytes)
        let response = OutboundResponse(status: 200, contentType: "application/json", body: bytes)
        guard let network = MCCMNC("310010"),
            let document = ProviderResponse.object(response, upTo: \.discoveryBytes, of: OutboundLimits())
        else { return }
        _ = OIDCError(ofDiscovery: document).isLasting
        if let issuer = EndpointURL("https://carrier.example", policy: .httpsOnly) {
            _ = try? IssuerMetadata(document, issuer: issuer, requirements: requirements)
        }
        for network in [network, nil] {
            let metadata = try? ProviderMetadata(document, network: network, requirements: requirements)
            if let metadata { check(metadata) }
        }
    }

    private static func check(_ metadata: ProviderMetadata) {
        let endpoints: [EndpointURL?] = [
            metadata.authorizationEndpoint, metadata.tokenEndpoint, metadata.userInfoEndpoint, metadata.jwksURI,
            metadata.serverInitiatedAuthorizationEndpoint, metadata.pushedAuthorizationRequestEndpoint,
            metadata.backchannelAuthentication?.endpoint, metadata.endSessionEndpoint,
        ]
        for endpoint in endpoints.compactMap(\.self) + metadata.mutualTLSAliases.endpoints {
            demand(requirements.trustedHosts.contains(endpoint.host), "every endpoint is on a trusted host")
            demand(endpoint.scheme == .https || endpoint.isLoopback, "what is not encrypted stays on this machine")
            demand(
                endpoint.text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a URL breaks no line of a request")
        }
        demand(!metadata.signingAlgorithms.isEmpty, "there is a common algorithm")
    }
}
