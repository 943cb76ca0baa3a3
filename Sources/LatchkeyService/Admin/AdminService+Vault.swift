public import LatchkeyConfiguration
import Primitives
import SignIn
import Storage
import StorageModel

/// The change of the keys that providers' tokens are encrypted with.
extension AdminService {
    /// Encrypts every row of stored tokens with the first of `vault.encryption_keys`, in steps: what was done stays done if
    /// it ends in between. Servers may run meanwhile.
    ///
    /// - Parameters:
    ///   - step: How many rows at a time.
    ///   - progress: Is told after each step.
    /// - Throws: ``OperatorFailure`` also where rows are left that none of the keys opens.
    public func rotateVault(
        _ configuration: Configuration, applies: Bool, step: Int = 200, progress: (String) -> Void = { _ in }
    ) async throws -> [String] {
        let vault = TokenVault(keys: configuration.vaultKeys)
        guard let current = vault.currentKeyID else {
            throw OperatorFailure("there is no key to encrypt with; set vault.encryption_keys")
        }
        let counts = try await storing { () async throws(StorageError) in try await store.providerTokenCounts() }
        let status = VaultStatus(counts, vault)
        let total = status.older
        let survey = [
            "rows of tokens under the current key (\(current)): \(status.current);",
            "  under older keys: \(total); under keys that are not configured: \(status.lost).",
        ]
        guard applies else {
            return survey + (total == 0 ? [] : ["Nothing was changed. Add --apply to encrypt \(total) anew."])
        }
        for line in survey { progress(line) }
        var (done, unreadable) = (0, 0)
        // A row that a server changes at the very moment is met again in the next round.
        for _ in 0..<3 {
            let round = try await rotateOnce(vault, current, step: step, earlier: done, of: total, progress)
            done += round.done
            unreadable = round.unreadable
            if round.done == 0 { break }
        }
        let (moment, (rows, left)) = (clock.now(), (done, unreadable))
        try await storing { () async throws(StorageError) in
            try await store.addAuditEvent(
                AuditEvent(
                    at: moment, .vaultRotated, user: nil, by: .operating(Self.operatorName),
                    details: AuditDetails { json in
                        json.add("key", current)
                        json.add("rows", rows)
                        json.add("unreadable", left)
                    }))
        }
        guard unreadable == 0 else {
            throw OperatorFailure(
                "\(done) rows were encrypted anew, and \(unreadable) left: none of vault.encryption_keys opens them. Add "
                    + "the key that they are under behind the first, and do it again; or leave them: they are replaced "
                    + "when their users sign in")
        }
        return ["\(done) rows were encrypted anew; the older keys can be removed once no server uses them."]
    }

    private func rotateOnce(
        _ vault: TokenVault, _ current: String, step: Int, earlier: Int, of total: Int, _ progress: (String) -> Void
    ) async throws -> (done: Int, unreadable: Int) {
        var (last, done, unreadable) = (Int64(0), 0, 0)
        while true {
            let after = last
            let records = try await storing { () async throws(StorageError) in
                try await store.providerTokens(notUnder: current, after: after, limit: step)
            }
            guard let end = records.last?.serial else { return (done, unreadable) }
            let rows = records.compactMap { record in
                (try? vault.resealed(record)).map { ResealedTokens(record: record, sealed: $0) }
            }
            unreadable += records.count - rows.count
            done += try await storing { () async throws(StorageError) in try await store.resealProviderTokens(rows) }
            last = end
            progress("encrypted anew: \(earlier + done) of \(total)")
        }
    }
}

/// Under which keys stored tokens are.
struct VaultStatus {
    var current = 0
    /// Under keys that are configured, and not the first.
    var older = 0
    /// Under keys that are not configured.
    var lost = 0
    var lostKeys: [String] = []

    /// - Parameter counts: Rows by the id of their key.
    init(_ counts: [String: Int], _ vault: TokenVault) {
        for (keyID, count) in counts.sorted(by: { $0.key < $1.key }) {
            if keyID == vault.currentKeyID {
                current += count
            } else if vault.holds(keyID) {
                older += count
            } else {
                lost += count
                lostKeys.append(keyID)
            }
        }
    }
}

extension AuditEvent.Kind {
    /// An operator had stored tokens encrypted with another key.
    static let vaultRotated = AuditEvent.Kind("vault.rotated")
}
