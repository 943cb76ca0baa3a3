package import Foundation

/// Visits an authorization URL over the cellular network and follows its redirects up to the app's redirect URI,
/// without showing a page: the part of a browser that a sign-in with `prompt=none` needs.
///
/// Each request has no more than the host's own cookies of this visit. Nothing of one origin is sent to another, and no
/// content is read.
package struct AuthorizationVisit: Sendable {
    let network: any CellularNetwork
    /// Where the visit ends; this URL is not requested.
    let redirectURI: String
    let allowsLoopbackHTTP: Bool
    /// How long the visit may take, in seconds.
    let timeLimit: TimeInterval

    /// The most redirects of a visit.
    package static let mostRedirects = 10

    /// - Parameter allowsLoopbackHTTP: Whether URLs of this machine may be without TLS.
    package init(
        network: any CellularNetwork, redirectURI: String, allowsLoopbackHTTP: Bool, timeLimit: TimeInterval
    ) {
        self.network = network
        self.redirectURI = redirectURI
        self.allowsLoopbackHTTP = allowsLoopbackHTTP
        self.timeLimit = timeLimit
    }

    /// - Returns: The redirect URI with its parameters.
    /// - Throws: ``LatchkeyError/Code/cellularUnavailable`` or ``LatchkeyError/Code/authorizationStopped``.
    package func callback(from url: URL) async throws(LatchkeyError) -> URL {
        let limit = timeLimit
        let result = await withTaskGroup(of: Result<URL, LatchkeyError>.self) { group in
            group.addTask { await follow(url) }
            group.addTask {
                try? await Task.sleep(nanoseconds: UInt64(max(0, limit) * 1_000_000_000))
                return .failure(Task.isCancelled ? .wasCancelled : .visitTooLong)
            }
            let first = await group.next() ?? .failure(.wasCancelled)
            group.cancelAll()
            return first
        }
        return try result.get()
    }

    private func follow(_ url: URL) async -> Result<URL, LatchkeyError> {
        var cookies = OriginCookies()
        var present = VisitedURL(url.absoluteString, allowsLoopbackHTTP: allowsLoopbackHTTP)
        for _ in 0...Self.mostRedirects {
            guard let visited = present else { return .failure(.untrustedRedirect) }
            let head: ResponseHead
            do {
                guard let received = try await request(visited, cookies) else {
                    return .failure(Task.isCancelled ? .wasCancelled : .visitStopped)
                }
                head = received
            } catch {
                return .failure(error is CancellationError || Task.isCancelled ? .wasCancelled : .noCellularNetwork)
            }
            guard [301, 302, 303, 307, 308].contains(head.status), let location = head.value("location")
            else { return .failure(.visitStopped) }
            if isCallback(location) { return URL(string: location).map { .success($0) } ?? .failure(.visitStopped) }
            cookies.keep(head.values("set-cookie"), of: visited.endpoint)
            present = VisitedURL(location, below: visited, allowsLoopbackHTTP: allowsLoopbackHTTP)
        }
        return .failure(.visitStopped)
    }

    private func isCallback(_ location: String) -> Bool {
        location.hasPrefix(redirectURI) && ["?", "&"].contains(location.dropFirst(redirectURI.count).first)
    }

    private func request(_ url: VisitedURL, _ cookies: OriginCookies) async throws -> ResponseHead? {
        let connection = try await network.connect(to: url.endpoint)
        defer { connection.close() }
        var head = "GET \(url.target) HTTP/1.1\r\nHost: \(url.authority)\r\nAccept: text/html\r\nConnection: close\r\n"
        if let cookie = cookies.field(for: url.endpoint) { head += "Cookie: \(cookie)\r\n" }
        let bytes = Data((head + "\r\n").utf8)
        return try await withTaskCancellationHandler {
            try await connection.send(bytes)
            return try await ResponseHead.read(from: connection)
        } onCancel: {
            connection.close()
        }
    }
}

/// The cookies of a visit. Each is sent to the origin that set it and to no other, whatever its `Domain`.
private struct OriginCookies {
    private var values: [CellularEndpoint: [(name: String, value: String)]] = [:]

    private static let most = 20
    private static let longest = 4096

    mutating func keep(_ fields: [String], of origin: CellularEndpoint) {
        for field in fields where field.utf8.count <= Self.longest {
            let parts = field.split(separator: ";", omittingEmptySubsequences: false)
            let pair = parts[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, !pair[0].isEmpty, parts[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { continue }
            var all = values[origin, default: []].filter { $0.name != pair[0] }
            let isDeleted = parts.dropFirst().contains {
                $0.lowercased().replacingOccurrences(of: " ", with: "").hasPrefix("max-age=0")
            }
            if !isDeleted, all.count < Self.most { all.append((String(pair[0]), String(pair[1]))) }
            values[origin] = all
        }
    }

    func field(for origin: CellularEndpoint) -> String? {
        guard let all = values[origin], !all.isEmpty else { return nil }
        return all.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }
}

extension LatchkeyError {
    fileprivate static let noCellularNetwork = LatchkeyError(
        .cellularUnavailable, "There is no connection over the cellular network.", kind: .networkFailure)
    fileprivate static let visitTooLong = LatchkeyError(
        .cellularUnavailable, "The operator did not respond in time over the cellular network.", kind: .requestTimeout)
    fileprivate static let visitStopped = LatchkeyError(
        .authorizationStopped, "The operator did not send the browser back without a page.", kind: .requestDenied)
    fileprivate static let untrustedRedirect = LatchkeyError(
        .authorizationStopped, "The operator redirects to a URL that is not https.", kind: .serverError)
}
