import OutboundHTTP
import Primitives
import Synchronization

/// Why a notification has no response.
public enum NotificationError: String, Error, Sendable {
    case noConnection
    case noResponse
}

/// Posts to relying parties on this machine. The client starts with the first notification.
final class NotificationSender: Sendable {
    private let client = Mutex<OutboundHTTPClient?>(nil)

    /// The URL of a relying party: plain HTTP on 127.0.0.1, because the simulator never leaves this machine.
    static func url(_ text: String) -> EndpointURL? {
        text.hasPrefix("http://127.0.0.1:") ? EndpointURL(text, policy: .allowLoopbackHTTP) : nil
    }

    /// - Returns: The status of the response.
    func post(
        _ body: [UInt8], as type: String = "application/json", bearing token: String? = nil, to url: EndpointURL
    ) async throws -> Int {
        var headers = [(name: "Content-Type", value: type)]
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        do {
            return try await startedClient().send(
                OutboundRequest(
                    method: .post, url: url, headers: headers, body: body, timeout: .seconds(10),
                    maximumBodyBytes: 1 << 20)
            ).status
        } catch let error as OutboundError {
            throw error.mayHaveBeenSent ? NotificationError.noResponse : .noConnection
        }
    }

    private func startedClient() throws -> OutboundHTTPClient {
        try client.withLock { client in
            if let client { return client }
            var configuration = OutboundHTTPConfiguration()
            configuration.urlPolicy = .allowLoopbackHTTP
            configuration.addressPolicy.allowLoopback = true
            // Each notification has a connection.
            configuration.maximumIdleConnections = 0
            let made = try OutboundHTTPClient(configuration)
            client = made
            return made
        }
    }
}
