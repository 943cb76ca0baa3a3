import LatchkeyConfiguration
import OpenIDConnect
import SignIn

// Responses that a provider encrypts for its clients.
extension ServerExamination {
    mutating func encryptedResponses() {
        let (clients, demands) = (known.clients, provider.demands)
        for client in clients {
            encryptedResponses("ID tokens", "id_token", of: client, client.idTokenDecryption, demands.idTokenEncryption)
        }
        for client in clients {
            encryptedResponses(
                "userinfo responses", "userinfo", of: client, client.userInfoDecryption, demands.userInfoEncryption)
        }
    }

    /// - Parameter prefix: Begins the names of the client's settings and of the metadata's lists.
    private mutating func encryptedResponses(
        _ name: String, _ prefix: String, of client: Configuration.Client, _ decryption: ResponseDecryption?,
        _ support: EncryptionSupport
    ) {
        guard let decryption else { return }
        let (algorithm, encryption) = (decryption.key.algorithm, decryption.encryption)
        let missing = [
            (support.algorithms?.contains(algorithm) ?? true) ? nil : (algorithm.rawValue, "alg"),
            (support.encryptions?.contains(encryption) ?? true) ? nil : (encryption.rawValue, "enc"),
        ]
        if let (value, list) = missing.compactMap(\.self).first {
            problem(
                "the provider does not list \(value) in \(prefix)_encryption_\(list)_values_supported: sign-ins "
                    + "fail, unless its metadata is wrong", of: client,
                fix: "set \(prefix)_encrypted_response_\(list) of the client as it is registered there")
        } else {
            ok("\(name) must be encrypted with \(algorithm.rawValue) and \(encryption.rawValue)", of: client)
        }
    }
}
