public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests.
public protocol Transport: Sendable {
    /// Sends a request and returns the response, whatever its status.
    /// - Throws: If there is no response. The server may have received the request.
    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse)
}

/// Sends requests with its own `URLSession`, which stores no cookies and no responses and follows no redirect, so that
/// codes and tokens go only to the configured address.
public struct URLSessionTransport: Transport {
    private let session: URLSession

    /// A new session.
    /// - Parameter timeout: How long a response may take, in seconds.
    public init(timeout: TimeInterval = 30) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = timeout
        session = URLSession(configuration: configuration, delegate: WithoutRedirects(), delegateQueue: nil)
    }

    /// Sends a request and returns the response, whatever its status.
    /// - Throws: `URLError` if there is no response.
    public func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return (data, response)
    }
}

private final class WithoutRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}
