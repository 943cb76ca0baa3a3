import CLatchkeyCurl
import OpenIDConnect

/// The header fields of a request as libcurl's list, made again only if they differ from the last request's.
struct RequestFields: ~Copyable {
    private var list: UnsafeMutablePointer<curl_slist>?
    private var fields: [(name: String, value: String)] = []

    deinit { curl_slist_free_all(list) }

    mutating func set(
        _ wanted: [(name: String, value: String)], on easy: UnsafeMutableRawPointer, host: String
    ) throws(OutboundError) {
        if list != nil, fields.elementsEqual(wanted, by: ==) { return }
        guard wanted.allSatisfy(Self.isLegal) else {
            throw OutboundError(
                .malformed, mayHaveBeenSent: false, reason: "\(host): a header field of the request is not valid")
        }
        guard let made = Self.makeList(wanted), ccurl_set_list(easy, CURLOPT_HTTPHEADER, made) == CURLE_OK else {
            throw OutboundError(.overloaded, mayHaveBeenSent: false, reason: "\(host): no memory")
        }
        curl_slist_free_all(list)
        list = made
        fields = wanted
    }

    private static func makeList(_ fields: [(name: String, value: String)]) -> UnsafeMutablePointer<curl_slist>? {
        // A name without value turns off a field of libcurl's: it would send Expect: 100-continue before a large body,
        // and wait for the interim response.
        var list = curl_slist_append(nil, "Expect:")
        for (name, value) in fields {
            let line = value.isEmpty ? "\(name);" : "\(name): \(value)"
            guard let head = list, let longer = curl_slist_append(head, line) else {
                curl_slist_free_all(list)
                return nil
            }
            list = longer
        }
        return list
    }

    /// RFC 9110 sections 5.1 and 5.5, so that no value can add another field.
    private static func isLegal(_ field: (name: String, value: String)) -> Bool {
        !field.name.isEmpty && field.name.utf8.allSatisfy(isTokenCharacter)
            && field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
