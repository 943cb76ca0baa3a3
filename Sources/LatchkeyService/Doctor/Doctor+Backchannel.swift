import LatchkeyConfiguration
import OpenIDConnect
import SignIn

// What a provider says about backchannel authentication (CIBA), compared with the settings.
extension Doctor {
    func examineBackchannel(of provider: ProviderMetadata, _ known: Configuration.Provider) -> [Finding] {
        guard let mode = known.rules.backchannelTokenDelivery.mode else { return [] }
        let key = "backchannel_token_delivery_mode of providers.\(known.id)"
        guard let metadata = provider.backchannelAuthentication else {
            return [
                .problem(
                    .metadata, known.id,
                    "\(key) is set, and the metadata has no backchannel_authentication_endpoint on https",
                    fix: "set it to off, or have the provider enable CIBA")
            ]
        }
        guard metadata.mayDeliver(by: mode) else {
            let others = (metadata.deliveryModes ?? []).map(\.rawValue).sorted().joined(separator: " or ")
            return [
                .problem(
                    .metadata, known.id,
                    "the provider does not list \(mode.rawValue) in backchannel_token_delivery_modes_supported",
                    fix: others.isEmpty ? "set \(key) to off: Latchkey has no other mode" : "set \(key) to \(others)")
            ]
        }
        var findings = [
            Finding.ok(.metadata, known.id, "backchannel authentication is supported in the mode \(mode.rawValue)")
        ]
        if mode == .ping, configuration.publicURL == nil {
            findings.append(
                .problem(
                    .metadata, known.id, "\(key) is ping, and public_url is not set: the provider cannot notify",
                    fix: "set public_url, and register what latchkey client-metadata prints"))
        }
        guard configuration.relyingParty(of: known).signedBackchannelRequests == .always else { return findings }
        let listed = metadata.signingAlgorithms ?? []
        for client in known.clients where client.signingKey.map({ !listed.contains($0.algorithm) }) ?? true {
            findings.append(
                .problem(
                    .metadata, known.id,
                    "requests must be signed, and the provider lists no algorithm of a key of \(client.id.text) in "
                        + "backchannel_authentication_request_signing_alg_values_supported",
                    fix: "give the client a private_key with a listed algorithm, or set request_object to auto"))
        }
        return findings
    }
}
