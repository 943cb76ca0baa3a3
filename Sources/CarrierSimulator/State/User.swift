extension CarrierSimulator {
    /// A user of a carrier, and what the carrier knows about them.
    public struct User: Sendable, Hashable {
        /// Names the user in calls and forms. The `sub` is derived from it and differs for each client.
        public var id: String
        /// The `given_name` claim.
        public var givenName: String
        /// The `family_name` claim.
        public var familyName: String
        /// The `email` claim.
        public var email: String
        /// In E.164 form, such as `+12025550123`.
        public var phoneNumber: String
        /// The `street_address` of the `address` claim.
        public var streetAddress: String
        /// The `locality` of the `address` claim.
        public var locality: String
        /// The `region` of the `address` claim.
        public var region: String
        /// The `postal_code` claim.
        public var postalCode: String
        /// The `birthdate` claim, `YYYY-MM-DD`.
        public var birthdate: String
        /// The `last_4_social` claim: four digits.
        public var last4Social: String
        /// The user's accounts with former carriers, whose port tokens the carrier shows.
        public var formerAccounts: [FormerAccount] = []

        /// A user without former accounts.
        public init(
            id: String, givenName: String, familyName: String, email: String, phoneNumber: String,
            streetAddress: String = "1 Harbor Street", locality: String = "Springfield", region: String = "OR",
            postalCode: String, birthdate: String = "1984-05-17", last4Social: String = "0042"
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
            self.last4Social = last4Social
        }

        /// The `name` claim.
        public var name: String { "\(givenName) \(familyName)" }

        /// Two invented users with phone numbers and addresses that are reserved for examples.
        public static let defaults = [
            User(
                id: "jane", givenName: "Jane", familyName: "Doe", email: "jane.doe@example.com",
                phoneNumber: "+12025550123", postalCode: "97477"),
            User(
                id: "ravi", givenName: "Ravi", familyName: "Okafor", email: "ravi.okafor@example.net",
                phoneNumber: "+12025550187", streetAddress: "22 Mill Lane", locality: "Riverton", region: "WY",
                postalCode: "82501", birthdate: "1991-11-02", last4Social: "9318"),
        ]
    }
}
