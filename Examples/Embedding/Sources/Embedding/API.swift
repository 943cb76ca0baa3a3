import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Calls an HTTP API that speaks JSON.
struct API: Sendable {
    private let baseURL: String

    /// - Throws: ``Failure`` without a URL.
    init(baseURL: String?) throws {
        guard let baseURL else { throw Failure("a server has no address") }
        self.baseURL = baseURL
    }

    /// The members of the response's JSON object.
    func call(
        _ method: String, _ path: String, token: String? = nil, body: [String: Any]? = nil
    ) async throws -> [String: Any] {
        let data = try await data(method, path, token: token, body: body)
        guard let members = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw Failure("\(path) answers with something else than a JSON object")
        }
        return members
    }

    /// The content of the response.
    func data(
        _ method: String, _ path: String, token: String? = nil, body: [String: Any]? = nil
    ) async throws -> Data {
        var request = try request(method, path)
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONSerialization.data(withJSONObject: body)
        }
        return try await URLSession.shared.data(for: request).0
    }

    private func request(_ method: String, _ path: String) throws -> URLRequest {
        guard let url = URL(string: baseURL + path) else { throw Failure("\(baseURL + path) is not a URL") }
        var request = URLRequest(url: url, timeoutInterval: 120)
        request.httpMethod = method
        request.setValue(Embedding.apiKey, forHTTPHeaderField: "X-API-KEY")
        return request
    }
}
