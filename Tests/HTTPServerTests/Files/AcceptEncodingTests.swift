import HTTPServer
import Testing

@Suite("Accept-Encoding (RFC 9110 section 12.5.3)")
struct AcceptEncodingTests {
    enum Choice { case gzip, plain, none }

    static let rows: [(values: [String], choice: Choice)] = [
        ([], .plain), ([""], .plain), ([" "], .plain), ([", ,"], .plain),
        (["gzip"], .gzip), (["GZip"], .gzip), (["x-gzip"], .gzip), (["gzip, deflate, br"], .gzip),
        (["deflate", "gzip"], .gzip), (["deflate, br"], .plain), (["gzipped"], .plain),
        (["gzip;q=0"], .plain), (["gzip;q=0.000"], .plain), (["gzip; q=0.001"], .gzip), (["gzip ; Q=1.0"], .gzip),
        (["*"], .gzip), (["*;q=0.1"], .gzip), (["gzip;q=0, *"], .plain), (["*;q=0, gzip"], .gzip),
        (["*;q=0"], .none), (["identity;q=0"], .none), (["identity;q=0, *"], .gzip), (["identity;q=0, gzip"], .gzip),
        (["identity;q=0, br"], .none), (["identity, *;q=0"], .plain), (["*;q=0, identity;q=0.5"], .plain),
        (["identity;q=0.5, gzip;q=0.4"], .plain), (["identity;q=0.5, gzip;q=0.5"], .gzip),
        (["identity, *;q=0.5"], .plain), (["gzip;q=0.1"], .gzip),
        // A malformed field selects no coding.
        (["gzip;q=2"], .plain), (["gzip;q=1.001"], .plain), (["gzip;q=0.1234"], .plain), (["gzip;q=-1"], .plain),
        (["gzip;q="], .plain), (["gzip;q"], .plain), (["gzip;x=1"], .plain), (["gz ip"], .plain), ([";q=1"], .plain),
        (["gzip;q=.5"], .plain), (["identity;q=0, gzip;q=x"], .plain),
        // More than there are codings.
        (Array(repeating: "br", count: 63) + ["gzip"], .gzip), (Array(repeating: "br", count: 64) + ["gzip"], .plain),
        ([String(repeating: "br,", count: 63) + "gzip"], .gzip),
        ([String(repeating: "br,", count: 64) + "gzip"], .plain),
    ]

    @Test("The coding follows the client's weights", arguments: rows)
    func choice(_ values: [String], _ choice: Choice) {
        let accepted = AcceptEncoding(values)
        #expect(accepted.choosesGzip == (choice == .gzip))
        #expect(accepted.takesIdentity || choice != .plain)
        #expect(!accepted.takesIdentity || choice != .none)
    }
}
