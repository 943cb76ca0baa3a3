import CLatchkeyCurl
import OpenIDConnect

/// One easy handle of libcurl and its current exchange. Reused for many exchanges.
///
/// Only the loop's thread uses it. libcurl's callbacks run on that thread, too.
final class Transfer {
    let easy: UnsafeMutableRawPointer
    let addressPolicy: AddressPolicy?
    /// Its index among the loop's active transfers.
    var slot = 0

    /// Where libcurl writes details of a failure; nil unless certificates are inspected.
    let failureText: FailureText?
    private(set) var exchange: Exchange?
    // Set by the callbacks.
    var head = ResponseHead()
    var body: [UInt8] = []
    var isTooLarge = false
    var wasAddressRefused = false
    var sendings = 0

    // The handle's current options, so that they are not set again.
    private var method: OutboundRequest.Method?
    private var url: EndpointURL?
    private var bodyLimit: Int?
    private var fields = RequestFields()
    private var content = RequestContent()

    init(_ configuration: OutboundHTTPConfiguration) throws(OutboundHTTPStartError) {
        guard let easy = curl_easy_init() else { throw OutboundHTTPStartError(.library, "no easy handle") }
        self.easy = easy
        addressPolicy = configuration.proxy == nil ? configuration.addressPolicy : nil
        failureText = configuration.inspectsCertificates ? FailureText() : nil
        try EasyOptions.set(configuration, on: easy)
        failureText?.attach(to: easy)
        guard setCallbacks() == CURLE_OK else {
            throw OutboundHTTPStartError(.library, "libcurl does not know a callback")
        }
    }

    deinit { curl_easy_cleanup(easy) }

    /// Takes an exchange and sets the options that differ. On failure the exchange is not taken.
    func prepare(_ exchange: Exchange, now: ContinuousClock.Instant) throws(OutboundError) {
        let request = exchange.request
        let left = exchange.deadline - now
        guard left > .zero else {
            throw exchange.error(.timedOut, "the timeout ended while the request waited for a connection")
        }
        try fields.set(request.headers, on: easy, host: request.url.host)
        var result = ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, left.wholeMilliseconds)
        if result == CURLE_OK { result = set(request.url) }
        if result == CURLE_OK { result = set(request.method, request.body) }
        if result == CURLE_OK { result = set(bodyLimit: request.maximumBodyBytes) }
        guard result == CURLE_OK else {
            throw CurlFailure.error(result, host: request.url.host, mayHaveBeenSent: false)
        }
        self.exchange = exchange
    }

    /// Drops the exchange and its response.
    func clear() {
        exchange = nil
        head = ResponseHead()
        body = []
        isTooLarge = false
        wasAddressRefused = false
        sendings = 0
        content.erase()
        failureText?.clear()
    }

    private func set(_ url: EndpointURL) -> CURLcode {
        if url.text == self.url?.text { return CURLE_OK }
        let result = ccurl_set_string(easy, CURLOPT_URL, url.text)
        self.url = result == CURLE_OK ? url : nil
        return result
    }

    private func set(_ method: OutboundRequest.Method, _ body: [UInt8]) -> CURLcode {
        switch method {
        case .get where self.method == .get: return CURLE_OK
        case .get:
            self.method = .get
            return ccurl_set_long(easy, CURLOPT_HTTPGET, 1)
        case .post:
            // The handle stores only the address, so bytes and length are set for each request.
            self.method = .post
            let result = ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            guard result == CURLE_OK else { return result }
            return ccurl_set_pointer(easy, CURLOPT_POSTFIELDS, content.hold(body))
        }
    }

    private func set(bodyLimit: Int) -> CURLcode {
        if bodyLimit == self.bodyLimit { return CURLE_OK }
        self.bodyLimit = bodyLimit
        // Ends the transfer at a Content-Length that is too large; 0 means no limit.
        return ccurl_set_offset(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(max(1, bodyLimit)))
    }
}

extension Duration {
    /// Rounded up, and at least 1: 0 milliseconds mean no limit to libcurl.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return seconds < 0 ? 1 : Int(Int32.max) }
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int(min(max(milliseconds.addingReportingOverflow(fraction).partialValue, 1), Int64(Int32.max)))
    }
}
