package import SignIn

package struct VaultStatus {
    package private(set) var current = 0
    /// With configured keys other than the first, or not encrypted although there is a key.
    package private(set) var older = 0
    /// With keys that are not configured.
    package private(set) var lost = 0
    package private(set) var lostKeys: [String] = []

    /// - Parameter counts: The rows by the id of their key, which is empty if they are not encrypted.
    package init(_ counts: [String: Int], _ vault: TokenVault) {
        for (keyID, count) in counts.sorted(by: { $0.key < $1.key }) {
            if keyID == vault.currentKeyID {
                current += count
            } else if keyID.isEmpty {
                older += vault.currentKeyID == nil ? 0 : count
            } else if vault.holds(keyID) {
                older += count
            } else {
                lost += count
                lostKeys.append(keyID)
            }
        }
    }
}
