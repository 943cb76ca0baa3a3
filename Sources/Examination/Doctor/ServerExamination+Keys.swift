import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn

// The signing keys of a provider: whether sign-ins can use them, and why not.
extension ServerExamination {
    mutating func examineKeys() async {
        let failure: OIDCError?
        do throws(OIDCError) {
            _ = try await relyingParty.signingKeys(of: provider)
            failure = nil
        } catch {
            failure = error
        }
        let exchange = recorder.exchanges.last { $0.url == provider.jwksURI }
        let entries = exchange?.response.flatMap { KeySetReport(parsing: $0.body) }?.entries ?? []
        if let failure {
            var message = failure.check == nil ? failure.reason : "The key set has no usable key."
            if let reason = exchange?.failure?.reason { message += " (\(reason))" }
            if let status = exchange?.response?.status, status != 200 { message += " (HTTP status \(status))" }
            problem(message, in: .keys, fix: exchange?.failure?.code.remedy ?? party.unusableKeysRemedy)
        } else {
            examine(usable: entries.filter { !$0.algorithms.isEmpty })
        }
        // Keys for other purposes and of other kinds are ignored.
        for entry in entries {
            guard let reason = entry.refusal?.reason(entry) else { continue }
            warning(
                "\(entry.name) is not used: \(reason)", in: .keys,
                fix: "tell the \(party.rawValue) if it signs with the key: such tokens are refused")
        }
    }

    private mutating func examine(usable: [KeySetReport.Entry]) {
        let names = usable.map { "\($0.name) (\($0.algorithmNames), \($0.kind), \($0.bits ?? 0) bits)" }
        ok("usable: \(names.prefix(8).joined(separator: ", "))\(names.count > 8 ? ", …" : "")", in: .keys)
        let there = Set(usable.flatMap(\.algorithms))
        for accepted in Set(known.clients.map(\.signingAlgorithms)).map(Names.init).sorted(by: { $0.text < $1.text }) {
            let listed = accepted.algorithms.intersection(provider.signingAlgorithms)
            if listed.isEmpty {
                problem(
                    "its metadata lists none of the accepted algorithms (\(accepted.text))", in: .keys,
                    fix: "set the client's id_token_signed_response_alg to one of "
                        + Names(provider.signingAlgorithms).text + ", as it is registered there")
            } else if listed.isDisjoint(with: there) {
                problem(
                    "no key is for the accepted algorithms (\(Names(listed).text))", in: .keys,
                    fix: "tell the \(party.rawValue): its metadata and its keys contradict each other")
            }
        }
        for algorithm in there.sorted(by: { $0.rawValue < $1.rawValue }) {
            let nameless = usable.count { $0.algorithms.contains(algorithm) && $0.keyID == nil }
            guard nameless > 1 else { continue }
            warning(
                "\(nameless) keys for \(algorithm.rawValue) have no kid, so none is used", in: .keys,
                fix: "tell the \(party.rawValue) to name its keys")
        }
    }

    /// Responses that a provider encrypts for its clients.
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

/// A set of algorithms, and its names in alphabetical order.
private struct Names {
    let algorithms: Set<SigningAlgorithm>
    let text: String

    init(_ algorithms: Set<SigningAlgorithm>) {
        self.algorithms = algorithms
        text = algorithms.map(\.rawValue).sorted().joined(separator: ", ")
    }
}

extension KeySetReport.Entry {
    fileprivate var algorithmNames: String { algorithms.map(\.rawValue).joined(separator: " or ") }

    fileprivate var name: String { keyID.map { "«\($0)»" } ?? "a key without kid" }
}

extension PublicKey.KeyError {
    fileprivate func reason(_ entry: KeySetReport.Entry) -> String? {
        switch self {
        case .purpose, .kind: nil
        case .algorithm: "its alg is not accepted for \(entry.kind)"
        case .keyID: "its kid is not a text"
        case .size: "\(entry.kind) of \(entry.bits ?? 0) bits; 2048 to 8192 are accepted"
        case .numbers: "its values are not those of a valid \(entry.kind) key"
        }
    }
}
