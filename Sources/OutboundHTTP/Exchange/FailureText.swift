import CLatchkeyCurl

/// The buffer for libcurl's details of a failure, such as what is wrong with a certificate.
final class FailureText {
    private let buffer: UnsafeMutablePointer<CChar>

    init() {
        buffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        buffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    // The owner must clean up the easy handle before.
    deinit { buffer.deallocate() }

    func clear() { buffer[0] = 0 }

    func attach(to easy: UnsafeMutableRawPointer) {
        _ = ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, buffer)
    }

    /// Nil if libcurl wrote nothing. Control characters are left out.
    var text: String? {
        let text = String(cString: buffer)
        let printable = String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self)
        return printable.isEmpty ? nil : printable
    }
}
