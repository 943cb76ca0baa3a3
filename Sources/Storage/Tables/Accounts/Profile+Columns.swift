import Primitives
import StorageModel

extension UserAttribute {
    /// The columns of a profile, in the order in which every table has them.
    static let columns = allCases.map(\.rawValue)
}

extension CachedStatement {
    /// Binds the profile's columns.
    mutating func bind(_ profile: Profile) {
        for attribute in UserAttribute.allCases { bind(profile[attribute]) }
    }

    /// Reads the profile's columns, the first of which is column `first`.
    func profile(from first: CInt) -> Profile {
        var profile = Profile()
        var column = first
        for attribute in UserAttribute.allCases {
            profile[attribute] = text(column)
            column += 1
        }
        return profile
    }
}
