import CLatchkeyCurl
import OpenIDConnect

/// Translates libcurl's results.
enum CurlFailure {
    static func error(_ result: CURLcode, host: String, mayHaveBeenSent: Bool) -> OutboundError {
        OutboundError(
            code(for: result, mayHaveBeenSent: mayHaveBeenSent), mayHaveBeenSent: mayHaveBeenSent,
            reason: "\(host): \(text(of: result))")
    }

    /// A result that says no more than "failed" counts by its time: before the request was sent, the server is
    /// unreachable; after it, the response is malformed.
    static func code(for result: CURLcode, mayHaveBeenSent: Bool) -> OutboundError.Code {
        switch result {
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_URL_MALFORMAT:
            .unreachable
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_USE_SSL_FAILED:
            .tls
        case CURLE_FILESIZE_EXCEEDED: .tooLarge
        // libcurl's own limits, such as that on one header line, end like this.
        case CURLE_OUT_OF_MEMORY: mayHaveBeenSent ? .tooLarge : .overloaded
        default: mayHaveBeenSent ? .malformed : .unreachable
        }
    }

    /// libcurl's fixed text for a result, without content of the exchange.
    static func text(of result: CURLcode) -> String {
        guard let text = curl_easy_strerror(result) else { return "error \(result.rawValue)" }
        return String(cString: text)
    }
}

extension Transfer {
    /// The outcome of an exchange that libcurl has finished.
    func outcome(_ result: CURLcode, of exchange: Exchange) -> Exchange.Outcome {
        guard result == CURLE_OK else { return .failure(failure(result, of: exchange)) }
        guard head.isComplete else {
            return .failure(
                exchange.error(.malformed, mayHaveBeenSent: true, "the connection ended within the response's head"))
        }
        return .success(
            OutboundResponse(
                status: ccurl_response_code(easy), contentType: head.contentType, cacheControl: head.cacheControl,
                retryAfter: head.retryAfter, date: head.date, body: body,
                certificateExpiry: failureText == nil ? nil : CertificateExpiry.ofPeer(easy)))
    }

    private func failure(_ result: CURLcode, of exchange: Exchange) -> OutboundError {
        let wasSent = sendings > 0
        if isTooLarge { return exchange.error(.tooLarge, mayHaveBeenSent: wasSent, "the response is too large") }
        if sendings > 1 {
            return exchange.error(.malformed, mayHaveBeenSent: true, "the connection ended without a response")
        }
        if result == CURLE_COULDNT_CONNECT, wasAddressRefused {
            return exchange.error(.addressRefused, "the address policy does not allow this address")
        }
        if result == CURLE_OPERATION_TIMEDOUT, !wasSent, ContinuousClock.now < exchange.deadline {
            return exchange.error(.unreachable, "no connection within the connect timeout")
        }
        let error = CurlFailure.error(result, host: exchange.request.url.host, mayHaveBeenSent: wasSent)
        guard error.code == .tls, let text = failureText?.text else { return error }
        return exchange.error(.tls, mayHaveBeenSent: wasSent, text)
    }
}
