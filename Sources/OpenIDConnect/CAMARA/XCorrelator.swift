import Crypto
import Primitives

/// The header field `x-correlator` of the CAMARA APIs: up to 256 letters, digits and `-_:;./<>{}`.
enum XCorrelator {
    static let name = "x-correlator"

    /// The correlation id, or its SHA-256 in hexadecimal if it has characters that the field cannot have.
    static func text(of id: CorrelationID) -> String {
        id.text.utf8.allSatisfy(isAllowed) ? id.text : SHA256.hash(data: Array(id.text.utf8)).hexadecimal
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "-_:;./<>{}".utf8.contains(byte)
        }
    }
}
