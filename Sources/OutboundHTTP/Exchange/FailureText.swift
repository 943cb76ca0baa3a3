import CLatchkeyCurl

/// The buffer in which libcurl tells more of a failure than its code does, such as what is wrong with a certificate.
final class FailureText {
    private let buffer: UnsafeMutablePointer<CChar>

    init() {
        buffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        buffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    // The easy handle has to be gone before: it is its owner's to see to that.
    deinit {
        buffer.deallocate()
    }

    func clear() { buffer[0] = 0 }

    func attach(to easy: UnsafeMutableRawPointer) {
        _ = ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, buffer)
    }

    /// Nil if libcurl said nothing. Control characters are left out.
    var text: String? {
        let text = String(cString: buffer)
        let printable = String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self)
        return printable.isEmpty ? nil : printable
    }
}
