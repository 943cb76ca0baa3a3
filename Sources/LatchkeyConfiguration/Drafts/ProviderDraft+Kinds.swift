internal import OpenIDConnect
internal import Primitives
internal import SignIn

// Which keys belong to a provider of kind oidc, and which to one of kind oauth2. Those of kind camara are in
// ProviderDraft+Numbers.

extension ProviderDraft {
    /// Reports the keys that an oauth2 provider cannot have.
    func refuseKeysOfOpenID(_ origin: ConfigurationOrigin, _ context: inout ReadingContext) {
        if let responseMode, responseMode.isSigned {
            context.refuse(
                origin, "has response_mode: \(responseMode.rawValue), but no metadata that names the keys",
                "make it query or form_post, or make the kind oidc")
        }
        let others: [(name: String, isGiven: Bool, lack: String)] = [
            ("request_object", signedRequestObjects != nil, "no issuer that signed requests are for"),
            ("par", pushedAuthorizationRequests != nil, "no metadata that names the endpoint"),
            ("dpop", dpop != nil, "no metadata that says what the provider supports"),
            ("id_token_types", idTokenTypes != nil, "no ID tokens"),
            (
                "backchannel_token_delivery_mode", backchannelTokenDelivery != nil,
                "no metadata that names the endpoint"
            ),
        ]
        for (name, isGiven, lack) in others where isGiven {
            context.refuse(origin, "has \(name), but \(lack)", "remove it, or make the kind oidc")
        }
        if mutualTLS != nil {
            context.refuse(
                origin, "has mtls, but no metadata that says what the provider supports",
                "remove it: a client may authenticate with its certificate_file without it; or make the kind oidc")
        }
    }

    /// Reports endpoints that the metadata of an OpenID provider gives, and those that an oauth2 provider lacks.
    func refuseEndpoints(
        of kind: Configuration.Provider.Kind, _ origin: ConfigurationOrigin, _ context: inout ReadingContext
    ) {
        let ofOAuth2 = [
            ("authorization_endpoint", authorizationEndpoint != nil), ("token_endpoint", tokenEndpoint != nil),
            ("user_endpoint", userEndpoint != nil), ("subject", subject != nil),
        ]
        for (name, isGiven) in ofOAuth2 where isGiven != (kind == .oauth2) {
            context.refuse(
                origin, isGiven ? "has \(name), which its metadata gives" : "has no \(name)",
                isGiven ? "remove it, or make the kind oauth2" : "give it")
        }
    }

    /// Why sign-ins of the named client cannot be initiated.
    func loginInitiationProblem(
        _ kind: Configuration.Provider.Kind, _ clients: [Configuration.Client]
    ) -> (reason: String, remedy: String)? {
        guard let id = loginInitiationClient else { return nil }
        guard kind != .oauth2 else {
            return ("only an OpenID provider initiates sign-ins", "remove it, or make the kind oidc")
        }
        guard let client = clients.first(where: { $0.id == id }) else {
            return ("it has no client \(id.text)", "give the id of one of its clients")
        }
        guard client.redirectURIs.contains(where: { client.allows(.web, at: $0) }) else {
            return (
                "\(id.text) has no redirect URI for web, where the browser would arrive",
                "add one to its redirect_uris, or remove initiate_login_client"
            )
        }
        return nil
    }
}
