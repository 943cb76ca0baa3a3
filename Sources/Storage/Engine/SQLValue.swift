public import Primitives
public import StorageModel

/// A value that binds itself to a statement: to one column, or to several in the tables' order.
public protocol SQLValue {
    /// Binds it to the next question marks.
    func bind(to statement: inout CachedStatement)
}

/// A value of one column, which may be NULL if it is optional.
public protocol SQLColumnValue: SQLValue {
    /// The type of its column.
    static var kind: TableShape.Kind { get }
}

extension Optional: SQLValue where Wrapped: SQLColumnValue {
    /// Binds it to the next question mark.
    public func bind(to statement: inout CachedStatement) {
        if let self { self.bind(to: &statement) } else { statement.bindNull(Wrapped.kind) }
    }
}

extension Int64: SQLColumnValue {
    /// The type of its column.
    public static var kind: TableShape.Kind { .integer }
    /// Binds it to the next question mark.
    public func bind(to statement: inout CachedStatement) { statement.bind(self) }
}

extension String: SQLColumnValue {
    /// The type of its column.
    public static var kind: TableShape.Kind { .text }
    /// Binds it to the next question mark.
    public func bind(to statement: inout CachedStatement) { statement.bind(self) }
}

extension [UInt8]: SQLValue, SQLColumnValue {
    /// The type of its column.
    public static var kind: TableShape.Kind { .blob }
    /// Binds it to the next question mark.
    public func bind(to statement: inout CachedStatement) { withUnsafeBytes { statement.bind($0) } }
}

extension TokenHash: SQLColumnValue {
    package static var kind: TableShape.Kind { .blob }
    package func bind(to statement: inout CachedStatement) { withUnsafeBytes { statement.bind($0) } }
}

extension ProviderSessionHash: SQLColumnValue {
    package static var kind: TableShape.Kind { .blob }
    package func bind(to statement: inout CachedStatement) { bytes.bind(to: &statement) }
}

extension Timestamp: SQLColumnValue {
    /// The type of its column.
    public static var kind: TableShape.Kind { .integer }
    /// Binds it to the next question mark.
    public func bind(to statement: inout CachedStatement) { statement.bind(secondsSinceEpoch) }
}

extension UserID: SQLColumnValue {
    /// The type of its column.
    public static var kind: TableShape.Kind { .integer }
    /// Binds it to the next question mark.
    public func bind(to statement: inout CachedStatement) { statement.bind(number) }
}

/// Two columns: `issuer, subject`.
extension Identity: SQLValue {
    package func bind(to statement: inout CachedStatement) {
        statement.bind(issuer)
        statement.bind(subject)
    }
}

extension UserAttribute {
    /// The columns of a profile, in the order in which every table has them.
    package static let columns = allCases.map(\.rawValue)
    /// How many ``columns`` there are.
    package static let columnCount = CInt(columns.count)
}

/// The columns of a profile: ``UserAttribute/columns``.
extension UserAttributes<String>: SQLValue {
    /// Binds them in the order of the columns.
    public func bind(to statement: inout CachedStatement) {
        for attribute in UserAttribute.allCases { self[attribute].bind(to: &statement) }
    }
}

/// Five columns: ``ProviderAssertions/columns``; NULL if there is nothing.
package struct AssertionColumns: SQLValue {
    let values: ProviderAssertions?

    package init(values: ProviderAssertions?) { self.values = values }

    package func bind(to statement: inout CachedStatement) {
        statement.bind(
            values?.email?.time, values?.email?.issuer, values?.phoneNumber?.time, values?.phoneNumber?.issuer,
            values?.claims)
    }
}

extension ProviderAssertions {
    package static let columns = [
        "email_verified_at", "email_verified_by", "phone_number_verified_at", "phone_number_verified_by",
        "provider_claims",
    ]
}

/// Two columns: ``AttributeOrigins/columns``.
extension AttributeOrigins: SQLValue {
    package static let columns = ["attribute_origins", "profile_issuer"]

    package func bind(to statement: inout CachedStatement) { statement.bind(bits == 0 ? nil : bits, issuer) }
}

extension CachedStatement {
    /// The number; nil for NULL.
    public func optionalNumber(_ column: CInt) -> Int64? { isNull(column) ? nil : number(column) }

    /// The time in a column of seconds since 1970.
    public func time(_ column: CInt) -> Timestamp { Timestamp(secondsSinceEpoch: number(column)) }

    /// The time; nil for NULL.
    public func optionalTime(_ column: CInt) -> Timestamp? {
        optionalNumber(column).map { Timestamp(secondsSinceEpoch: $0) }
    }

    /// The user in a column of users' numbers.
    public func user(_ column: CInt) -> UserID { UserID(number(column)) }

    /// The identity in two columns, the first of which is `first`.
    package func identity(from first: CInt) throws -> Identity {
        Identity(issuer: try text(first), subject: try text(first + 1))
    }

    /// The values in the ``ProviderAssertions/columns``, the first of which is `first`.
    func assertions(from first: CInt) -> ProviderAssertions? {
        ProviderAssertions(
            email: verification(from: first), phoneNumber: verification(from: first + 2),
            claims: optionalText(first + 4))
    }

    private func verification(from first: CInt) -> Verification? {
        guard let time = optionalTime(first), let issuer = optionalText(first + 1) else { return nil }
        return Verification(at: time, by: issuer)
    }

    /// The origins in the ``AttributeOrigins/columns``, the first of which is `first`.
    func origins(from first: CInt) -> AttributeOrigins {
        AttributeOrigins(bits: optionalNumber(first) ?? 0, issuer: optionalText(first + 1))
    }

    /// The profile in the ``UserAttribute/columns``, the first of which is `first`.
    package func profile(from first: CInt) -> Profile {
        var profile = Profile()
        var column = first
        for attribute in UserAttribute.allCases {
            profile[attribute] = optionalText(column)
            column += 1
        }
        return profile
    }
}
