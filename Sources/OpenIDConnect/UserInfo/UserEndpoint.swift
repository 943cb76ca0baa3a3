public import Primitives

/// How a provider without ID tokens (RFC 6749 alone) names the user: its user endpoint's response to an access token
/// that the provider issued to us.
public struct UserEndpoint: Sendable, Hashable {
    /// The path of a member: `id`, or `data.id` in a nested object.
    public struct Member: Sendable, Hashable {
        /// The names of the nested members, 1 to 4.
        public let path: [String]

        /// A path with dots between the names; nil unless it has 1 to 4 names of 1 to 64 bytes.
        public init?(_ text: String) {
            path = text.split(ascii: ".", omittingEmptySubsequences: false).map(String.init)
            guard (1...4).contains(path.count), path.allSatisfy({ (1...64).contains($0.utf8.count) }) else {
                return nil
            }
        }

        /// The path with dots between the names.
        public var text: String { path.joined(separator: ".") }
    }

    /// Where the response comes from.
    public var url: EndpointURL
    /// The member that identifies the user and is never reassigned: a text or a whole number.
    public var subject: Member
    /// Attributes under other names than userinfo's.
    public var attributes: [UserAttribute: Member] = [:]

    /// An endpoint with userinfo's attribute names.
    public init(url: EndpointURL, subject: Member) {
        self.url = url
        self.subject = subject
    }
}
