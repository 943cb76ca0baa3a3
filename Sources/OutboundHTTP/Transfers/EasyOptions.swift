import CLatchkeyCurl

/// The options that are set once on every easy handle.
enum EasyOptions {
    private enum Value {
        case number(Int)
        case text(String?)
    }

    static func set(
        _ configuration: OutboundHTTPConfiguration, on easy: UnsafeMutableRawPointer
    ) throws(OutboundHTTPStartError) {
        guard ccurl_set_schemes(easy, configuration.allowLoopbackHTTP ? 1 : 0) == CURLE_OK else {
            throw OutboundHTTPStartError(.library, "libcurl refused the protocols")
        }
        ccurl_set_quick_exit(easy)
        for (option, value) in options(configuration) {
            let result =
                switch value {
                case .number(let number): ccurl_set_long(easy, option, number)
                case .text(let text): ccurl_set_string(easy, option, text)
                }
            guard result == CURLE_OK else {
                throw OutboundHTTPStartError(.library, "libcurl refused option \(option.rawValue)")
            }
        }
    }

    private static func options(_ configuration: OutboundHTTPConfiguration) -> [(CURLoption, Value)] {
        var options: [(CURLoption, Value)] = [
            (CURLOPT_HTTP_VERSION, .number(Int(CURL_HTTP_VERSION_1_1))), (CURLOPT_HTTP09_ALLOWED, .number(0)),
            (CURLOPT_FOLLOWLOCATION, .number(0)), (CURLOPT_PATH_AS_IS, .number(1)),
            (CURLOPT_DISALLOW_USERNAME_IN_URL, .number(1)), (CURLOPT_NETRC, .number(Int(CURL_NETRC_IGNORED.rawValue))),
            (CURLOPT_SUPPRESS_CONNECT_HEADERS, .number(1)), (CURLOPT_USERAGENT, .text(configuration.userAgent)),
            // One coding is enough. Each further decoder adds code that a carrier can attack.
            (CURLOPT_ACCEPT_ENCODING, .text("gzip")),
            // With an empty text instead of none, libcurl does not read the environment.
            (CURLOPT_PROXY, .text(configuration.proxy ?? "")), (CURLOPT_NOPROXY, .text("")),
            (CURLOPT_SSL_VERIFYPEER, .number(1)), (CURLOPT_SSL_VERIFYHOST, .number(2)),
            (CURLOPT_SSLVERSION, .number(Int(CURL_SSLVERSION_TLSv1_2))),
            // ccurl_start_thread blocks signals for the thread.
            (CURLOPT_NOSIGNAL, .number(1)),
            (CURLOPT_CONNECTTIMEOUT_MS, .number(configuration.connectTimeout.wholeMilliseconds)),
            (CURLOPT_MAXAGE_CONN, .number(max(1, configuration.keptConnectionSeconds))),
            (CURLOPT_TCP_NODELAY, .number(1)),
        ]
        if configuration.inspectsCertificates { options.append((CURLOPT_CERTINFO, .number(1))) }
        if let caBundle = configuration.caBundle {
            // Without CAPATH nil, the system's directory of certificates would be trusted, too.
            options += [(CURLOPT_CAINFO, .text(caBundle)), (CURLOPT_CAPATH, .text(nil))]
        }
        return options
    }
}
