import LatchkeyConfiguration
import OpenIDConnect
import SignIn

// Responses that a provider encrypts for its clients.
extension Doctor {
    /// One kind of response, and the names of its algorithms.
    private struct Kind {
        let name: String
        /// Begins the names of the client's settings and of the metadata's lists.
        let prefix: String
        let decryption: (Configuration.Client) -> ResponseDecryption?
        let support: (ProviderDemands) -> EncryptionSupport
    }

    private static var kinds: [Kind] {
        [
            Kind(
                name: "ID tokens", prefix: "id_token", decryption: { $0.idTokenDecryption },
                support: { $0.idTokenEncryption }),
            Kind(
                name: "userinfo responses", prefix: "userinfo", decryption: { $0.userInfoDecryption },
                support: { $0.userInfoEncryption }),
        ]
    }

    func encryptedResponses(
        of provider: ProviderMetadata, _ subject: String, _ clients: [Configuration.Client]
    ) -> [Finding] {
        Self.kinds.flatMap { kind in
            clients.compactMap { client in
                kind.decryption(client).map { decryption in
                    Self.finding(
                        kind, decryption, kind.support(provider.demands), "\(subject), client \(client.id.text)")
                }
            }
        }
    }

    private static func finding(
        _ kind: Kind, _ decryption: ResponseDecryption, _ support: EncryptionSupport, _ subject: String
    ) -> Finding {
        let (algorithm, encryption) = (decryption.key.algorithm, decryption.encryption)
        let missing = [
            (support.algorithms?.contains(algorithm) ?? true) ? nil : (algorithm.rawValue, "alg"),
            (support.encryptions?.contains(encryption) ?? true) ? nil : (encryption.rawValue, "enc"),
        ]
        if let (value, list) = missing.compactMap(\.self).first {
            return .problem(
                .metadata, subject,
                "the provider does not list \(value) in \(kind.prefix)_encryption_\(list)_values_supported: sign-ins "
                    + "fail, unless its metadata is wrong",
                fix: "set \(kind.prefix)_encrypted_response_\(list) of the client as it is registered there")
        }
        return .ok(
            .metadata, subject,
            "\(kind.name) must be encrypted with \(algorithm.rawValue) and \(encryption.rawValue)")
    }
}
