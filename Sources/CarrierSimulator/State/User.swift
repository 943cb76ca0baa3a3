import Crypto
import Primitives

extension CarrierSimulator {
    /// A user of a carrier, and what the carrier knows about them.
    public struct User: Sendable, Hashable {
        /// Names the user in calls and forms. The `sub` is derived from it and differs for each client.
        public var id: String
        public var givenName: String
        public var familyName: String
        public var email: String
        /// In E.164 form, such as `+12025550123`.
        public var phoneNumber: String
        public var postalCode: String
        /// The user's accounts with former carriers, whose port tokens the carrier shows.
        var formerAccounts: [FormerAccount] = []

        /// A subscriber.
        public init(
            id: String, givenName: String, familyName: String, email: String, phoneNumber: String, postalCode: String
        ) {
            self.id = id
            self.givenName = givenName
            self.familyName = familyName
            self.email = email
            self.phoneNumber = phoneNumber
            self.postalCode = postalCode
        }

        /// The full name.
        public var name: String { "\(givenName) \(familyName)" }

        /// Two invented users with phone numbers and addresses that are reserved for examples.
        public static let defaults = [
            User(
                id: "jane", givenName: "Jane", familyName: "Doe", email: "jane.doe@example.com",
                phoneNumber: "+12025550123", postalCode: "97477"),
            User(
                id: "ravi", givenName: "Ravi", familyName: "Okafor", email: "ravi.okafor@example.net",
                phoneNumber: "+12025550187", postalCode: "82501"),
        ]
    }
}

extension CarrierSimulator {
    /// The account that a user had with another carrier. The present carrier holds a port token of that carrier for
    /// each client, and shows it in the ID token's `aka`.
    struct FormerAccount: Sendable, Hashable {
        /// The network code of the former carrier.
        let mccmnc: String
        /// The user's id at the former carrier.
        let userID: String
        /// How many seconds ago the former carrier signed the port token.
        let age: Int64
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

/// Subject identifiers in the form of ZenKey's carriers: `mccmnc-` and an opaque part that differs for each client
/// (pairwise, OpenID Connect Core section 8.1).
enum Subject {
    static func identifier(mccmnc: String, clientID: String, userID: String) -> String {
        var hash = SHA256()
        for part in [mccmnc, clientID, userID] {
            hash.update(data: Array(part.utf8))
            // A byte that never occurs in UTF-8 separates the parts.
            hash.update(data: [0xFF])
        }
        return "\(mccmnc)-\(Base64URL.encode(Array(hash.finalize()).prefix(16)))"
    }
}
