extension CarrierSimulator {
    /// The account that a user had with another carrier. The present carrier holds a port token of that carrier for
    /// each client, and shows it in the ID token's `aka`.
    public struct FormerAccount: Sendable, Hashable {
        /// The network code of the former carrier.
        public var mccmnc: String
        /// The user's id at the former carrier.
        public var userID: String
        /// How many seconds ago the former carrier signed the port token.
        public var age: Int64

        /// An account that a user had with a former carrier.
        public init(mccmnc: String, userID: String, age: Int64 = 86_400) {
            self.mccmnc = mccmnc
            self.userID = userID
            self.age = age
        }
    }

    /// Moves a user from one carrier to another, where the user of this id shows a port token from now on. Unknown
    /// network codes and users change nothing.
    public func port(user id: String, from former: String, to present: String, age: Int64 = 86_400) {
        update(present) { carrier in
            guard let index = carrier.users.firstIndex(where: { $0.id == id }) else { return }
            carrier.users[index].formerAccounts.append(FormerAccount(mccmnc: former, userID: id, age: age))
        }
    }
}
