import CLatchkeyCurl

/// What every easy handle is told once.
enum EasyOptions {
    private struct Refused: Error {
        let option: CURLoption
    }

    static func set(
        _ configuration: OutboundHTTPConfiguration, on easy: UnsafeMutableRawPointer
    ) throws(OutboundHTTPStartError) {
        do throws(Refused) {
            try setProtocol(configuration, on: easy)
            try setTLS(configuration, on: easy)
            try setConnections(configuration, on: easy)
        } catch {
            throw OutboundHTTPStartError(.library, "libcurl refused option \(error.option.rawValue)")
        }
    }

    private static func setProtocol(
        _ configuration: OutboundHTTPConfiguration, on easy: UnsafeMutableRawPointer
    ) throws(Refused) {
        guard ccurl_set_schemes(easy, configuration.allowLoopbackHTTP ? 1 : 0) == CURLE_OK else {
            throw Refused(option: CURLOPT_URL)
        }
        try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1, on: easy)
        try set(CURLOPT_HTTP09_ALLOWED, 0, on: easy)
        try set(CURLOPT_FOLLOWLOCATION, 0, on: easy)
        try set(CURLOPT_PATH_AS_IS, 1, on: easy)
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1, on: easy)
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue), on: easy)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1, on: easy)
        try set(CURLOPT_USERAGENT, configuration.userAgent, on: easy)
        // One coding is enough; each further decoder would be one more thing a carrier can feed.
        try set(CURLOPT_ACCEPT_ENCODING, "gzip", on: easy)
        // An empty text, unlike none, keeps libcurl from asking the environment.
        try set(CURLOPT_PROXY, configuration.proxy ?? "", on: easy)
        try set(CURLOPT_NOPROXY, "", on: easy)
    }

    private static func setTLS(
        _ configuration: OutboundHTTPConfiguration, on easy: UnsafeMutableRawPointer
    ) throws(Refused) {
        try set(CURLOPT_SSL_VERIFYPEER, 1, on: easy)
        try set(CURLOPT_SSL_VERIFYHOST, 2, on: easy)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2), on: easy)
        if configuration.inspectsCertificates { try set(CURLOPT_CERTINFO, 1, on: easy) }
        guard let caBundle = configuration.caBundle else { return }
        try set(CURLOPT_CAINFO, caBundle, on: easy)
        // The system's directory of certificates would be trusted besides.
        try set(CURLOPT_CAPATH, nil, on: easy)
    }

    private static func setConnections(
        _ configuration: OutboundHTTPConfiguration, on easy: UnsafeMutableRawPointer
    ) throws(Refused) {
        // Signals are the thread's matter, see ccurl_start_thread.
        try set(CURLOPT_NOSIGNAL, 1, on: easy)
        ccurl_set_quick_exit(easy)
        try set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.wholeMilliseconds, on: easy)
        try set(CURLOPT_MAXAGE_CONN, max(1, configuration.keptConnectionSeconds), on: easy)
        try set(CURLOPT_TCP_NODELAY, 1, on: easy)
    }

    private static func set(
        _ option: CURLoption, _ value: Int, on easy: UnsafeMutableRawPointer
    ) throws(Refused) {
        guard ccurl_set_long(easy, option, value) == CURLE_OK else { throw Refused(option: option) }
    }

    private static func set(
        _ option: CURLoption, _ value: String?, on easy: UnsafeMutableRawPointer
    ) throws(Refused) {
        guard ccurl_set_string(easy, option, value) == CURLE_OK else { throw Refused(option: option) }
    }
}
