import Primitives

/// Discovery's two forms of an error: `{"error", "redirect_uri"}`, which sends the user to choose a carrier, and
/// `{"error", "error_description"}`.
enum DiscoveryRefusal {
    static func error(_ document: JSONObject) -> OIDCError {
        let code = document["error"]?.string
        if document["redirect_uri"]?.string != nil {
            return OIDCError(
                .unknownNetwork, carrierError: code, reason: "Discovery knows no carrier for the network (mccmnc).")
        }
        if let code, ProviderResponse.concernsClient(code) {
            return OIDCError(
                .clientRefused, carrierError: code,
                reason: "Discovery does not accept this client: check its id and registration.")
        }
        return OIDCError(.discoveryRefused, carrierError: code, reason: "Discovery responded with an error.")
    }

    /// Whether the same question would get the same response a moment later.
    static func isLasting(_ error: OIDCError) -> Bool {
        switch error.code {
        case .unknownNetwork: true
        case .discoveryRefused: error.carrierError != "temporarily_unavailable" && error.carrierError != "server_error"
        default: false
        }
    }
}
