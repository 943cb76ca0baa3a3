import Primitives

/// The issuers of a provider for several tenants, whose metadata has one issuer with a placeholder, such as
/// `https://login.microsoftonline.com/{tenantid}/v2.0`.
///
/// Each tenant has its own issuer, with the tenant's id in place of the placeholder. Its ID tokens have the id as
/// `tid`, too. A user's identity has the issuer of the tenant.
public struct TenantIssuers: Sendable, Hashable {
    private static let placeholders = ["{tenantid}", "{tenant}"]

    /// The issuer with the placeholder.
    public let template: String
    /// The ids of the tenants whose users may sign in; nil if all may.
    public var allowed: Set<String>?
    private let beginning: String
    private let end: String

    /// - Parameter template: An issuer with `{tenantid}` or `{tenant}`; nil for any other.
    public init?(_ template: String, allowing tenants: Set<String>? = nil) {
        guard let start = template.firstIndex(of: "{"),
            let placeholder = Self.placeholders.first(where: template[start...].hasPrefix)
        else { return nil }
        self.template = template
        allowed = tenants
        beginning = String(template[..<start])
        end = String(template[start...].dropFirst(placeholder.count))
    }

    public func issuer(of tenant: String) -> String { beginning + tenant + end }

    /// The id of the tenant whose issuer a text is; nil for another text, and for a tenant that is not allowed.
    package func tenant(of issuer: String) -> String? {
        guard issuer.isVisibleASCII(), issuer.hasPrefix(beginning), issuer.hasSuffix(end),
            issuer.utf8.count > beginning.utf8.count + end.utf8.count
        else { return nil }
        let tenant = String(issuer.dropFirst(beginning.utf8.count).dropLast(end.utf8.count))
        return Self.isTenant(tenant) && allowed?.contains(tenant) ?? true ? tenant : nil
    }

    /// Whether metadata may name an issuer: the template, or the issuer of a tenant that is allowed.
    func mayBeNamed(_ issuer: String) -> Bool {
        Self.placeholders.contains { issuer.hasSameBytes(as: self.issuer(of: $0)) } || tenant(of: issuer) != nil
    }

    /// Whether a text can be the id of a tenant: 1 to 64 letters, digits, `-`, `.`, `_` and `~`.
    public static func isTenant(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(PercentEncoding.isUnreserved)
    }
}
