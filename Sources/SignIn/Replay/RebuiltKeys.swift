import OpenIDConnect
import Primitives

/// The key sets of a capsule with made-up keys: of the same ids and algorithms, in the same order.
struct RebuiltKeys {
    /// The keys that signatures were checked with, as key sets in JSON, in the order of use.
    let sets: [[UInt8]]
    /// Signs the ID token; nil if no key fits it.
    let signer: ReplayKey?

    /// - Parameters:
    ///   - shown: The member `keys` of the capsule.
    ///   - header: That of the ID token, with made-up values.
    init(
        _ shown: JSONObject?, header: JSONObject?, _ values: inout MadeUpValues
    ) throws(CapsuleReplay.Refusal) {
        let algorithm = header?["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:))
        let keyID = header?["kid"]?.string
        let signer = algorithm.flatMap { ReplayKey(for: $0) }
        var sets: [[UInt8]] = []
        var fits = false
        for set in shown?["sets"]?.array?.prefix(2) ?? [] {
            var keys: [JSONValue] = []
            // The first key that fits the token verifies it.
            var isSigner = false
            for entry in set.array?.prefix(CapsuleReplay.maximumElements) ?? [] {
                guard let entry = entry.object else { continue }
                let algorithms = (entry["algs"]?.array ?? []).compactMap {
                    $0.string.flatMap(SigningAlgorithm.init(rawValue:))
                }
                guard let first = algorithms.first else { continue }
                var named: String?
                if let shown = entry["kid"]?.string { named = try values.text(shown) }
                let isCandidate =
                    !isSigner && algorithm.map(algorithms.contains) == true && (keyID == nil || keyID == named)
                guard let key = isCandidate ? signer : ReplayKey(for: first) else { continue }
                isSigner = isSigner || isCandidate
                keys.append(
                    .object(
                        of: key.publicMembers + [
                            ("kid", named.map { .string($0) }),
                            ("alg", algorithms.count == 1 ? .string(first.rawValue) : nil),
                        ]))
            }
            fits = fits || isSigner
            sets.append(Array(JSONValue.object(of: [("keys", .array(keys))]).text.utf8))
        }
        self.sets = sets
        self.signer = fits ? signer : nil
    }
}
