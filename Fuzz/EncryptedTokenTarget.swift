import Primitives

@testable import OpenIDConnect

/// The bytes as an encrypted ID token; a JSON object also as the header of one that is encrypted with a known key, and
/// any bytes as its content.
enum EncryptedTokenTarget {
    private static let limit = 16 * 1024

    static func read(_ bytes: [UInt8]) {
        open(String(decoding: bytes, as: UTF8.self))
        if JSONPromise.value(bytes)?.object != nil {
            open(Encryptor.token(header: bytes, content: Array("a.b.c".utf8)))
        }
        let text = Encryptor.token(content: bytes)
        let opened = open(text)
        let isReadable = !bytes.isEmpty && text.utf8.count <= limit && String(validating: bytes, as: UTF8.self) != nil
        demand((opened != nil) == isReadable, "a token for the client's key is opened")
        demand(opened.map { Array($0.utf8) == bytes } ?? true, "its content is what was encrypted")
    }

    @discardableResult
    private static func open(_ text: String) -> String? {
        guard let opened = Encryptor.decryption?.content(of: Secret(text), maximumBytes: limit)?.exposed else {
            return nil
        }
        demand(
            text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count == 5, "five parts")
        return opened
    }
}
