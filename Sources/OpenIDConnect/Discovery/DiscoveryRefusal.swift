import Primitives

/// The two forms in which discovery says that it has no carrier: `{"error", "redirect_uri"}`, which sends the user to
/// choose one, and `{"error", "error_description"}`.
enum DiscoveryRefusal {
    static func error(_ document: JSONObject) -> OIDCError {
        let code = document["error"]?.string
        if document["redirect_uri"]?.string != nil {
            return OIDCError(.unknownNetwork, carrierError: code, reason: "Discovery knows no carrier for the network.")
        }
        if let code, ProviderResponse.concernsClient(code) {
            return OIDCError(.clientRefused, carrierError: code, reason: "Discovery does not accept this client.")
        }
        return OIDCError(.discoveryRefused, carrierError: code, reason: "Discovery answered with an error.")
    }

    /// Whether the same question would be answered alike a moment later.
    static func isLasting(_ error: OIDCError) -> Bool {
        switch error.code {
        case .unknownNetwork: true
        case .discoveryRefused: error.carrierError != "temporarily_unavailable" && error.carrierError != "server_error"
        default: false
        }
    }
}
