extension CarrierSimulator {
    /// The account that a user had with another carrier before: the carrier of today holds a port token of that one for
    /// each client, and shows it in the ID token's `aka`.
    public struct FormerAccount: Sendable, Hashable {
        /// The network code of the former carrier.
        public var mccmnc: String
        /// The user's id there.
        public var userID: String
        /// How many seconds ago the former carrier signed the port token.
        public var age: Int64

        public init(mccmnc: String, userID: String, age: Int64 = 86_400) {
            self.mccmnc = mccmnc
            self.userID = userID
            self.age = age
        }
    }

    /// Has a user of one carrier move to another: the user of this id there shows a port token from now on. Unknown
    /// network codes and users change nothing.
    public func port(user id: String, from former: String, to present: String, age: Int64 = 86_400) {
        update(present) { carrier in
            guard let index = carrier.users.firstIndex(where: { $0.id == id }) else { return }
            carrier.users[index].formerAccounts.append(FormerAccount(mccmnc: former, userID: id, age: age))
        }
    }
}
