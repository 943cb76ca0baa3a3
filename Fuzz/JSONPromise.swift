import Primitives

/// A property of all JSON that is read.
enum JSONPromise {
    /// The value of the bytes, if they are JSON. Written and read again, it must be the same.
    @discardableResult
    static func value(_ bytes: [UInt8]) -> JSONValue? {
        do throws(JSONSyntaxError) {
            let value = try JSONValue(parsing: bytes)
            let text = value.text
            let again = try? JSONValue(parsing: Array(text.utf8))
            demand(again == value, "JSON that was read reads the same once it was written")
            demand(again?.text.hasSameBytes(as: text) == true, "JSON is written the same once it was read again")
            return value
        } catch {
            demand((0...bytes.count).contains(error.offset), "the place of a fault is in the text")
            return nil
        }
    }
}
