import Foundation
package import Primitives

/// The parts of a request with a form.
package struct SentForm {
    package let headers: [String: String]
    package let form: [String: [String]]

    package init(_ request: OutboundRequest) {
        headers = Dictionary(request.headers.map { ($0.name, $0.value) }) { $0 + $1 }
        let pairs = String(decoding: request.body, as: UTF8.self).split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(sides[0]), sides[1].removingPercentEncoding ?? "?")
        }
        form = Dictionary(pairs.map { ($0.0, [$0.1]) }) { $0 + $1 }
    }

    /// Header, claims and signature of the client assertion, and the signing input.
    package func assertion() throws -> (header: JSONObject, claims: JSONObject, signature: [UInt8], signed: [UInt8]) {
        let parts = (form["client_assertion"]?.first ?? "").split(separator: ".").map(String.init)
        let bytes = parts.compactMap { Base64URL.decode($0) }
        guard parts.count == 3, bytes.count == 3, let header = try JSONValue(parsing: bytes[0]).object,
            let claims = try JSONValue(parsing: bytes[1]).object
        else { throw UnreadableAssertion() }
        return (header, claims, bytes[2], Array("\(parts[0]).\(parts[1])".utf8))
    }
}

/// The client assertion is not one. This target has no requirements of tests: the release build compiles it, too, and
/// finds no Testing.
struct UnreadableAssertion: Error {}
