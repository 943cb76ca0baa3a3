import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The request that exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
struct TokenRequest {
    let code: Secret
    let redirectURI: String
    let codeVerifier: CodeVerifier?
    let client: ClientCredentials
    let correlationID: CorrelationID

    func outbound(to endpoint: EndpointURL, limits: OutboundLimits) -> OutboundRequest {
        OutboundRequest(
            method: .post, url: endpoint,
            headers: [
                ("Authorization", authorization),
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Accept", "application/json"),
            ],
            body: body, timeout: limits.tokenTimeout, maximumBodyBytes: limits.tokenBytes)
    }

    /// Without `client_id`: one carrier refuses it beside Basic.
    private var body: [UInt8] {
        var items = [
            (name: "grant_type", value: "authorization_code"), ("code", code.exposed), ("redirect_uri", redirectURI),
            ("correlation_id", correlationID.text),
        ]
        if let codeVerifier { items.append(("code_verifier", codeVerifier.secret.exposed)) }
        return PercentEncoding.form(items)
    }

    private var authorization: String {
        switch client.authentication {
        case .clientSecretBasic(let secret):
            // RFC 6749 section 2.3.1: each encoded first, so that a colon in the id stays in the id.
            var pair: [UInt8] = []
            PercentEncoding.append(client.clientID.text, to: &pair)
            pair.append(UInt8(ascii: ":"))
            PercentEncoding.append(secret.exposed, to: &pair)
            return "Basic " + Data(pair).base64EncodedString()
        }
    }
}
