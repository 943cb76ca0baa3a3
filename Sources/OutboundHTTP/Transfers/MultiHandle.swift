import CLatchkeyCurl
import OpenIDConnect

/// libcurl's multi handle: the transfers under way and the connections kept for later ones.
///
/// Sendable because ``wakeUp()`` is the one thing done from other threads, and `curl_multi_wakeup` may be called from
/// any. All else belongs to the loop's thread, which closes the handle only after ``Inbox/endWaking()`` has made sure that
/// no wake-up is to come.
final class MultiHandle: @unchecked Sendable {
    private var multi: UnsafeMutableRawPointer?

    init(keptConnections: Int) throws(OutboundHTTPStartError) {
        guard GlobalState.result == CURLE_OK, let multi = curl_multi_init() else {
            throw OutboundHTTPStartError(.library, "libcurl did not start")
        }
        self.multi = multi
        guard ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, keptConnections)) == CURLM_OK,
            ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING)) == CURLM_OK
        else {
            throw OutboundHTTPStartError(.library, "libcurl refused an option")
        }
    }

    deinit { close() }

    func close() {
        if let multi { curl_multi_cleanup(multi) }
        multi = nil
    }

    func wakeUp() {
        if let multi { curl_multi_wakeup(multi) }
    }

    func add(_ easy: UnsafeMutableRawPointer) -> Bool { curl_multi_add_handle(multi, easy) == CURLM_OK }

    func remove(_ easy: UnsafeMutableRawPointer) { curl_multi_remove_handle(multi, easy) }

    /// Moves all transfers on as far as they go without waiting.
    func perform() {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
    }

    /// Waits until a socket or a timer of a transfer is ready, ``wakeUp()`` was called, or the time is over.
    func poll(milliseconds: Int32) {
        curl_multi_poll(multi, nil, 0, milliseconds, nil)
    }

    func nextFinished() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        var result = CURLE_OK
        guard let easy = ccurl_next_finished(multi, &result) else { return nil }
        return (easy, result)
    }
}

/// libcurl's state of the whole process.
private enum GlobalState {
    /// Made once, by whichever thread comes first; never undone, since others in the process may use libcurl too.
    static let result: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}
