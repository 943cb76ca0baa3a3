extension CarrierSimulator {
    /// A subscriber of a carrier: who signs in, and what the carrier knows about them.
    public struct User: Sendable, Hashable {
        /// Picks the user in calls and forms. The `sub` is derived from it, and is another for each client.
        public var id: String
        public var givenName: String
        public var familyName: String
        public var email: String
        /// In E.164 form, such as `+12025550123`.
        public var phoneNumber: String
        public var streetAddress: String
        public var locality: String
        public var region: String
        public var postalCode: String
        /// `YYYY-MM-DD`.
        public var birthdate: String
        /// With which carriers the user was before, and so whose port tokens the carrier shows.
        public var formerAccounts: [FormerAccount] = []

        public init(
            id: String, givenName: String, familyName: String, email: String, phoneNumber: String,
            streetAddress: String = "1 Harbor Street", locality: String = "Springfield", region: String = "OR",
            postalCode: String, birthdate: String = "1984-05-17"
        ) {
            self.id = id
            self.givenName = givenName
            self.familyName = familyName
            self.email = email
            self.phoneNumber = phoneNumber
            self.streetAddress = streetAddress
            self.locality = locality
            self.region = region
            self.postalCode = postalCode
            self.birthdate = birthdate
        }

        public var name: String { "\(givenName) \(familyName)" }

        /// Two invented people with numbers and addresses that are reserved for fiction and examples.
        public static let defaults = [
            User(
                id: "jane", givenName: "Jane", familyName: "Doe", email: "jane.doe@example.com",
                phoneNumber: "+12025550123", postalCode: "97477"),
            User(
                id: "ravi", givenName: "Ravi", familyName: "Okafor", email: "ravi.okafor@example.net",
                phoneNumber: "+12025550187", streetAddress: "22 Mill Lane", locality: "Riverton", region: "WY",
                postalCode: "82501", birthdate: "1991-11-02"),
        ]
    }
}
