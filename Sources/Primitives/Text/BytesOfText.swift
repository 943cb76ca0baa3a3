/// A text that is compared and hashed by its bytes (see ``Swift/String/hasSameBytes(as:)``).
///
/// Swift compares and hashes a text in Unicode's normal form. To bring it there can cost a hundred times as much as to
/// read it.
package struct BytesOfText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: BytesOfText, right: BytesOfText) -> Bool { left.text.hasSameBytes(as: right.text) }

    package func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
