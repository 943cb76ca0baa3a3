package import Primitives

/// A user with the origins of the profile: what decides which values a sign-in or an edit changes.
package struct TrackedUser: Sendable, Hashable {
    package private(set) var user: User
    package private(set) var origins: AttributeOrigins

    package init(_ user: User, _ origins: AttributeOrigins = AttributeOrigins()) {
        self.user = user
        self.origins = origins
    }

    /// A new user with a profile.
    /// - Parameters:
    ///   - asserted: The provider's claims. The values of the profile that differ from them are the user's own.
    ///   - flags: Which of the claims the provider verified.
    ///   - claims: The further claims, as they are stored.
    package init(
        new user: User, asserted: Profile, _ flags: VerifiedFlags, claims: String?, by issuer: String, at now: Timestamp
    ) {
        self.init(user)
        for attribute in user.profile.present {
            origins[attribute] = user.profile[attribute] == asserted[attribute] ? .provider : .user
        }
        if !asserted.present.isEmpty { origins.issuer = issuer }
        if claims != nil { self.user.assertions = ProviderAssertions(email: nil, phoneNumber: nil, claims: claims) }
        vouch(asserted, flags, by: issuer, at: now)
    }

    /// Changes the user by what a provider asserts at a sign-in.
    ///
    /// What the profile lacks is filled. A value of the user's own stays; every other value follows one provider, the
    /// first that asserted any.
    /// - Parameter mayReplace: Whether the profile follows this provider from now on in place of
    ///   ``AttributeOrigins/issuer``. Called only if that matters.
    package mutating func update(
        with asserted: Profile, _ flags: VerifiedFlags, claims: ClaimsUpdate? = nil, from issuer: String,
        at now: Timestamp,
        inPlaceOf mayReplace: () throws -> Bool
    ) rethrows {
        var known: Bool?
        func follows() throws -> Bool {
            let follows = try known ?? (origins.issuer == nil || origins.issuer == issuer || mayReplace())
            known = follows
            return follows
        }
        for attribute in asserted.present {
            guard let new = asserted[attribute] else { continue }
            if let present = user.profile[attribute], !present.hasSameBytes(as: new) {
                // A value of unknown origin may be the user's own.
                guard origins[attribute] == .provider else { continue }
                guard try follows() else { continue }
                replace(attribute, by: new)
            } else if user.profile[attribute] == nil {
                replace(attribute, by: new)
            }
            if origins[attribute] != .user { origins[attribute] = .provider }
        }
        if let claims {
            let stored = claims(user.publicID, user.assertions?.claims)
            keep(email: user.assertions?.email, phoneNumber: user.assertions?.phoneNumber, claims: stored)
        }
        if known == true || origins.issuer == nil && !asserted.present.isEmpty { origins.issuer = issuer }
        vouch(asserted, flags, by: issuer, at: now)
    }

    /// Fills what the profile lacks with values of unknown origin.
    package mutating func fill(with profile: Profile) {
        for attribute in profile.present where user.profile[attribute] == nil {
            replace(attribute, by: profile[attribute])
        }
    }

    /// Changes the profile as the user edits it. A value that is sent unchanged keeps its origin and its verification.
    /// A cleared attribute is open to the provider again.
    package mutating func edit(_ change: ProfileChange) {
        for attribute in change.present {
            switch change[attribute] {
            case .set(let value):
                if let present = user.profile[attribute], present.hasSameBytes(as: value) { continue }
                replace(attribute, by: value)
                origins[attribute] = .user
            case .clear:
                replace(attribute, by: nil)
                origins[attribute] = nil
            case nil: break
            }
        }
    }

    /// Gives the user a phone number that a mobile operator has confirmed to be the user's own.
    package mutating func confirm(phoneNumber: String, by issuer: String, at now: Timestamp) {
        if user.profile[.phoneNumber]?.hasSameBytes(as: phoneNumber) != true {
            replace(.phoneNumber, by: phoneNumber)
            origins[.phoneNumber] = .user
        }
        verify(email: user.assertions?.email, phoneNumber: Verification(at: now, by: issuer))
    }

    /// Another value is not verified.
    private mutating func replace(_ attribute: UserAttribute, by value: String?) {
        user.profile[attribute] = value
        verify(
            email: attribute == .email ? nil : user.assertions?.email,
            phoneNumber: attribute == .phoneNumber ? nil : user.assertions?.phoneNumber)
    }

    private mutating func vouch(_ asserted: Profile, _ flags: VerifiedFlags, by issuer: String, at now: Timestamp) {
        func verification(_ attribute: UserAttribute, _ present: Verification?) -> Verification? {
            guard let value = asserted[attribute] else { return present }
            guard let stored = user.profile[attribute], stored.hasSameBytes(as: value) else {
                // The provider knows another value now.
                return present?.issuer == issuer ? nil : present
            }
            return switch flags[attribute] {
            case true?: present ?? Verification(at: now, by: issuer)
            case false?: present?.issuer == issuer ? nil : present
            case nil: present
            }
        }
        verify(
            email: verification(.email, user.assertions?.email),
            phoneNumber: verification(.phoneNumber, user.assertions?.phoneNumber))
    }

    private mutating func verify(email: Verification?, phoneNumber: Verification?) {
        keep(email: email, phoneNumber: phoneNumber, claims: user.assertions?.claims)
    }

    private mutating func keep(email: Verification?, phoneNumber: Verification?, claims: String?) {
        let present = user.assertions
        guard email != present?.email || phoneNumber != present?.phoneNumber || claims != present?.claims else {
            return
        }
        user.assertions = ProviderAssertions(email: email, phoneNumber: phoneNumber, claims: claims)
    }
}
