import LatchkeyConfiguration
import OpenIDConnect
import SignIn

// The signing keys of a carrier or provider: whether sign-ins can use them, and why not.
extension Doctor {
    func examineKeys(
        of provider: ProviderMetadata, at party: Party, for clients: [Configuration.Client], _ subject: String,
        _ relyingParty: RelyingParty, _ recorder: ExchangeRecorder
    ) async -> [Finding] {
        let failure: OIDCError?
        do throws(OIDCError) {
            _ = try await relyingParty.signingKeys(of: provider)
            failure = nil
        } catch {
            failure = error
        }
        let exchange = recorder.exchanges.last { $0.url == provider.jwksURI }
        let entries = exchange?.response.flatMap { KeySetReport(parsing: $0.body) }?.entries ?? []
        var findings: [Finding] = []
        if let failure {
            let fix = exchange?.failure?.code.remedy
            var message = failure.check == nil ? failure.reason : "The key set has no usable key."
            if let reason = exchange?.failure?.reason { message += " (\(reason))" }
            if let status = exchange?.response?.status, status != 200 { message += " (HTTP status \(status))" }
            findings.append(
                .problem(.keys, subject, message, fix: fix ?? party.unusableKeysRemedy))
        } else {
            findings += usable(entries, provider, party, clients, subject)
        }
        return findings + entries.compactMap { finding($0, party, subject) }
    }

    private func usable(
        _ entries: [KeySetReport.Entry], _ provider: ProviderMetadata, _ party: Party,
        _ clients: [Configuration.Client], _ subject: String
    ) -> [Finding] {
        let usable = entries.filter { !$0.algorithms.isEmpty }
        let names = usable.map { "\($0.name) (\($0.algorithmNames), \($0.kind), \($0.bits ?? 0) bits)" }
        let more = names.count > 8 ? ", …" : ""
        var findings: [Finding] = [.ok(.keys, subject, "usable: \(names.prefix(8).joined(separator: ", "))\(more)")]
        let there = Set(usable.flatMap(\.algorithms))
        for accepted in Set(clients.map(\.signingAlgorithms)).map(Names.init).sorted(by: { $0.text < $1.text }) {
            let listed = accepted.algorithms.intersection(provider.signingAlgorithms)
            guard !listed.isEmpty else {
                findings.append(
                    .problem(
                        .keys, subject, "its metadata lists none of the accepted algorithms (\(accepted.text))",
                        fix: "set the client's id_token_signed_response_alg to one of "
                            + Names(provider.signingAlgorithms).text + ", as it is registered there"))
                continue
            }
            guard listed.isDisjoint(with: there) else { continue }
            findings.append(
                .problem(
                    .keys, subject, "no key is for the accepted algorithms (\(Names(listed).text))",
                    fix: "tell the \(party.rawValue): its metadata and its keys contradict each other"))
        }
        for algorithm in there.sorted(by: { $0.rawValue < $1.rawValue }) {
            let nameless = usable.filter { $0.algorithms.contains(algorithm) && $0.keyID == nil }
            guard nameless.count > 1 else { continue }
            findings.append(
                .warning(
                    .keys, subject,
                    "\(nameless.count) keys for \(algorithm.rawValue) have no kid, so none is used",
                    fix: "tell the \(party.rawValue) to name its keys"))
        }
        return findings
    }

    /// Keys for other purposes and of other kinds are ignored.
    private func finding(_ entry: KeySetReport.Entry, _ party: Party, _ subject: String) -> Finding? {
        guard let refusal = entry.refusal, let reason = refusal.reason(entry) else { return nil }
        return .warning(
            .keys, subject, "\(entry.name) is not used: \(reason)",
            fix: "tell the \(party.rawValue) if it signs with the key: such tokens are refused")
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

extension PublicKey.Refusal {
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
