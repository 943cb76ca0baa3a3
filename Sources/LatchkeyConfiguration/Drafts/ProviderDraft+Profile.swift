internal import OpenIDConnect
internal import SignIn

// A profile sets what the file leaves out. A setting that contradicts the profile is refused, so that a provider never
// has less than its profile says.

extension ProviderDraft {
    /// Sets what a profile demands of the provider and its clients, after reporting every setting that contradicts it.
    mutating func meet(_ profile: SecurityProfile, _ context: inout ReadingContext) {
        var demands = ProfileDemands(profile: profile, place: place)
        demands.set("par", &rules.extensions.pushedAuthorizationRequests, to: .always, &context)
        // Either binds the tokens (section 5.3.3.1).
        if rules.extensions.mutualTLS != .always {
            demands.check(
                "dpop", &rules.extensions.dpop, isOneOf: [.always], usually: .always, orElse: "mtls: always",
                &context)
        }
        demands.set("require_iss", &rules.requiresIssuer, to: true, &context)
        demands.set("pkce", &rules.pkce, to: .required, &context)
        if profile.signsMessages {
            demands.set("request_object", &rules.extensions.signedRequestObjects, to: .always, &context)
            let signed = AuthorizationResponseMode.allCases.filter(\.isSigned)
            demands.check("response_mode", &rules.responseMode, isOneOf: signed, usually: .jwt, &context)
        }
        for index in clients.indices {
            demands.place = clients[index].place
            context.beneath(key(ofClient: index)) { clients[index].meet(demands, &$0) }
        }
    }
}

extension ClientDraft {
    fileprivate mutating func meet(_ demands: ProfileDemands, _ context: inout ReadingContext) {
        if secret != nil || secretIssuer != nil || secretAudience != nil {
            demands.refuse("a secret", instead: "private_key or certificate_file", &context)
        }
        // Without a key, the certificate decides between the other two.
        demands.check(
            "token_endpoint_auth_method", &method,
            isOneOf: [.privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth],
            usually: privateKey.key == nil && certificateFile != nil ? nil : .privateKeyJWT, &context)
        demands.set("assertion_audience", &assertionAudience, to: .issuer, &context)
        let algorithms = ClientKey.algorithms.filter(SecurityProfile.signingAlgorithms.contains)
        demands.check("private_key", &privateKey, isOneOf: algorithms, &context)
        demands.check("other_private_key", &otherPrivateKey, isOneOf: algorithms, &context)
        let accepted = SigningAlgorithm.allCases.filter(SecurityProfile.signingAlgorithms.contains)
        rules.usualSigningAlgorithms = SecurityProfile.signingAlgorithms
        demands.check("id_token_signed_response_alg", &rules.idTokenSigningAlgorithm, isOneOf: accepted, &context)
        demands.check("userinfo_signed_response_alg", &rules.userInfoSigningAlgorithm, isOneOf: accepted, &context)
        demands.check(
            "authorization_signed_response_alg", &rules.responseSigningAlgorithm, isOneOf: accepted,
            usually: .ps256, &context)
        if rules.pkce == .optional { demands.refuse("pkce: optional", instead: "pkce: required", &context) }
    }
}

/// What a profile demands, and the place of the settings that must meet it.
private struct ProfileDemands {
    let profile: SecurityProfile
    var place: GroupPlace

    /// Sets a value that is left out, and reports another one.
    func set<Value: Equatable & SendableMetatype>(
        _ name: String, _ value: inout Value, to demanded: Value, _ context: inout ReadingContext
    ) {
        check(name, &value, isOneOf: [demanded], usually: demanded, &context)
    }

    /// Sets a value that is left out to the usual one, if there is one, and reports one that is not allowed.
    func check<Value: Equatable & SendableMetatype>(
        _ name: String, _ value: inout Value, isOneOf allowed: [Value], usually usual: Value? = nil,
        orElse alternative: String? = nil, _ context: inout ReadingContext
    ) {
        guard place.given[name] != nil else {
            if let usual { value = usual }
            return
        }
        guard !allowed.contains(value) else { return }
        let words = allowed.map(Self.word).joined(separator: " or ") + (alternative.map { " or \($0)" } ?? "")
        refuse("\(name): \(Self.word(value))", instead: "\(name): \(words)", &context)
    }

    /// Sets the algorithm of a private key, and reports one that is not allowed, also where the key itself has it.
    func check(
        _ name: String, _ draft: inout SigningKeyDraft, isOneOf allowed: [SigningAlgorithm],
        _ context: inout ReadingContext
    ) {
        let own = draft.key?.statedAlgorithm
        if draft.algorithm == nil, let own, !allowed.contains(own) {
            let words = allowed.map(\.rawValue).joined(separator: " or ")
            return refuse("alg: \(own.rawValue) in the JSON Web Key of \(name)", instead: "alg: \(words)", &context)
        }
        let usual = own ?? draft.key?.signing(with: .ps256).map { _ in .ps256 }
        check("\(name)_alg", &draft.algorithm, isOneOf: allowed, usually: usual, &context)
    }

    func refuse(_ given: String, instead demanded: String, _ context: inout ReadingContext) {
        context.refuse(
            place.origin, "has \(given), but profile: \(profile.rawValue) demands \(demanded)",
            "give that, or remove profile and set its parts one by one")
    }

    /// As it is written in the file.
    private static func word(_ value: some Any) -> String {
        (value as? any RawRepresentable<String>)?.rawValue ?? (value as? Bool).map { "\($0)" } ?? ""
    }
}
