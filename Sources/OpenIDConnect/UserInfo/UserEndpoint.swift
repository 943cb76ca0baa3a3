public import Primitives

/// How a provider without ID tokens (RFC 6749 alone) says who somebody is: what its user endpoint answers to an access
/// token that we got from it ourselves.
public struct UserEndpoint: Sendable, Hashable {
    /// Where a member stands: `id`, or `data.id` in an object of its own.
    public struct Member: Sendable, Hashable {
        public let path: [String]

        public init?(_ text: String) {
            path = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard (1...4).contains(path.count), path.allSatisfy({ (1...64).contains($0.utf8.count) }) else {
                return nil
            }
        }

        public var text: String { path.joined(separator: ".") }
    }

    public var url: EndpointURL
    /// The member that tells users apart, and is never given to another: a text or a whole number.
    public var subject: Member
    /// Members of other names than ours. What is not in it is read as in userinfo.
    public var attributes: [UserAttribute: Member] = [:]

    public init(url: EndpointURL, subject: Member) {
        self.url = url
        self.subject = subject
    }
}
