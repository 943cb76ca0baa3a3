/// An address at which a service listens.
public struct ListeningAddress: Sendable, Hashable {
    /// What is served there.
    public enum Purpose: String, Sendable {
        /// The API and the pages.
        case api
        /// Redirects from HTTP to HTTPS.
        case redirects
        /// The metrics alone.
        case metrics
    }

    /// The scheme and the bound address.
    public let url: String
    /// What is served there.
    public let purpose: Purpose
}
