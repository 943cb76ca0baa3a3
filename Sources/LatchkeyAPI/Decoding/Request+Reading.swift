import HTTPServer
import HTTPTypes
import Primitives

extension Request {
    /// The `{provider}` of the path.
    var provider: String { parameters["provider"] ?? "" }

    /// Whether the client is a script rather than a browser navigation.
    var prefersJSON: Bool { headers[.accept]?.hasPrefix("application/json") ?? false }

    /// The token of `Authorization: Bearer …` (RFC 6750 section 2.1); tokens in queries and bodies are not read.
    /// - Throws: 401 for a missing or repeated field, another scheme, more than 512 characters, or characters not in
    ///   RFC 7235's token68.
    func bearerToken() throws(APIError) -> Secret {
        guard let field = headers.bytes(of: .authorization) else {
            throw headers.count(of: .authorization) == 0 ? .sessionMissing : .sessionInvalid
        }
        let scheme = "bearer ".utf8
        guard field.count > scheme.count, zip(field, scheme).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 }) else {
            throw .sessionInvalid
        }
        let token = field.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
        guard (1...512).contains(token.count), token.allSatisfy(Self.isToken68) else { throw .sessionInvalid }
        return Secret(String(decoding: token, as: UTF8.self))
    }

    private static func isToken68(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
