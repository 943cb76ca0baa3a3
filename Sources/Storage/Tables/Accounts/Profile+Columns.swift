import StorageModel

extension CachedStatement {
    /// Binds the seven profile columns in the tables' order.
    mutating func bind(_ profile: Profile) {
        bind(profile.username)
        bind(profile.name)
        bind(profile.givenName)
        bind(profile.familyName)
        bind(profile.email)
        bind(profile.phoneNumber)
        bind(profile.postalCode)
    }

    /// Reads the seven profile columns, the first of which stands at `first`.
    func profile(from first: CInt) -> Profile {
        Profile(
            username: text(first), name: text(first + 1), givenName: text(first + 2), familyName: text(first + 3),
            email: text(first + 4), phoneNumber: text(first + 5), postalCode: text(first + 6))
    }
}

extension Profile {
    /// This profile, with what it lacks taken from another.
    func filled(with other: Profile) -> Profile {
        Profile(
            username: username ?? other.username, name: name ?? other.name, givenName: givenName ?? other.givenName,
            familyName: familyName ?? other.familyName, email: email ?? other.email,
            phoneNumber: phoneNumber ?? other.phoneNumber, postalCode: postalCode ?? other.postalCode)
    }
}
