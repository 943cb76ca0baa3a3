import CLatchkeyCurl
import OpenIDConnect

/// libcurl's multi handle: the transfers under way and the connections kept for reuse.
///
/// Sendable, because other threads call only ``wakeUp()``, and `curl_multi_wakeup` may be called from any thread.
/// Everything else belongs to the loop's thread, which closes the handle only after ``Inbox/endWaking()`` prevents
/// further wake-ups.
final class MultiHandle: @unchecked Sendable {
    /// Initialises libcurl once, for the first client; never cleaned up, because other code in the process may use it.
    private static let globalResult: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    private var multi: UnsafeMutableRawPointer?

    init(keptConnections: Int) throws(OutboundHTTPStartError) {
        guard Self.globalResult == CURLE_OK, let multi = curl_multi_init() else {
            throw OutboundHTTPStartError(.library, "libcurl did not start")
        }
        self.multi = multi
        guard ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, keptConnections)) == CURLM_OK,
            ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)) == CURLM_OK
        else { throw OutboundHTTPStartError(.library, "libcurl refused an option") }
    }

    deinit { close() }

    func close() {
        if let multi { curl_multi_cleanup(multi) }
        multi = nil
    }

    func wakeUp() { if let multi { curl_multi_wakeup(multi) } }

    func add(_ easy: UnsafeMutableRawPointer) -> Bool { curl_multi_add_handle(multi, easy) == CURLM_OK }

    func remove(_ easy: UnsafeMutableRawPointer) { curl_multi_remove_handle(multi, easy) }

    /// Advances all transfers as far as possible without waiting.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
    }

    /// Waits until a socket or timer of a transfer is ready, ``wakeUp()`` is called, or the time is over.
    func poll(milliseconds: Int32) { curl_multi_poll(multi, nil, 0, milliseconds, nil) }

    func nextFinished() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        var result = CURLE_OK
        guard let easy = ccurl_next_finished(multi, &result) else { return nil }
        return (easy, result)
    }
}
