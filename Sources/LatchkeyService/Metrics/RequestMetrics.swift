import HTTPTypes
import LatchkeyAPI
import Observability

final class RequestMetrics: Sendable {
    /// The last one counts all other methods.
    private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"]
    private static let statuses = [
        200, 201, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413, 414,
        415, 416, 417, 422, 428, 429, 431, 451, 500, 501, 502, 503, 504, 505,
    ]

    private let total: Counter
    private let durations: Histogram
    private let placeOfStatus: [UInt8]
    private let files: Int

    init(_ patterns: [String]) {
        files = patterns.count
        let routes = LabelValues(
            "route", patterns + ["files", "other"],
            "the pattern of the path; `files` for files of `Public/`, `other` for unknown paths")
        let methods = LabelValues("method", Self.methods, "the method; `other` for methods without a route")
        let statuses = LabelValues("status", Self.statuses.map(String.init) + ["other"], "the status of the response")
        total = Counter("latchkey_http_requests_total", "Requests answered.", by: [routes, methods, statuses])
        durations = Histogram(
            "latchkey_http_request_duration_seconds",
            "Duration of requests, from the last byte of the request to the response.", by: [routes, methods])
        var places = [UInt8](repeating: UInt8(Self.statuses.count), count: 600)
        for (place, status) in Self.statuses.enumerated() { places[status] = UInt8(place) }
        placeOfStatus = places
    }

    var metrics: [any Metric] { [total, durations] }

    func count(_ request: CompletedRequest) {
        let isNowhere = request.status == 404 || request.status == 405
        let route = request.route ?? (isNowhere ? files + 1 : files)
        let method = Self.methods.firstIndex(of: request.method.rawValue) ?? Self.methods.count - 1
        let isKnown = placeOfStatus.indices.contains(request.status)
        total.add(at: route, method, isKnown ? Int(placeOfStatus[request.status]) : Self.statuses.count)
        durations.observe(request.nanoseconds, at: route, method)
    }
}
