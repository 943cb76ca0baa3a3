package import Primitives
import Tracing

/// What the exported spans and metrics are of: one process of one service.
package struct TelemetryResource: Sendable, Hashable {
    /// `service.name`
    package let serviceName: String
    /// `service.version`, also the instrumentation scope's.
    package let version: String
    /// `service.instance.id`: differs for each process.
    package let instanceID: String

    package init(serviceName: String, version: String, random: RandomSource = .system) {
        self.serviceName = serviceName
        self.version = version
        instanceID = random.bytes(16).hexadecimal
    }
}

extension TelemetryResource {
    /// The body of a request: spans or metrics with what made them.
    /// - Parameters:
    ///   - list: The name of the outermost list.
    ///   - scopes: The name of the list within it.
    func body(
        _ list: StaticString, _ scopes: StaticString, capacity: Int, _ content: (inout JSONObjectWriter) -> Void
    ) -> [UInt8] {
        let attributes = [
            ("service.name", serviceName), ("service.version", version), ("service.instance.id", instanceID),
        ]
        var json = JSONObjectWriter(capacity: capacity)
        json.add(list, objects: [attributes]) { attributes, json in
            json.add("resource") { $0.add(attributes: attributes) }
            json.add(scopes, objects: [version]) { version, json in
                json.add("scope") { scope in
                    scope.add("name", "latchkey")
                    scope.add("version", version)
                }
                content(&json)
            }
        }
        return json.finish()
    }
}

extension JSONObjectWriter {
    /// Writes `attributes`, a list of key-value pairs; nothing if there are none.
    mutating func add(attributes: [(name: String, value: String)]) {
        add(attributes: attributes.map { ($0.name, .string($0.value)) })
    }

    /// Writes single values. Latchkey sets no lists.
    mutating func add(attributes: [(name: String, value: SpanAttribute)]) {
        guard !attributes.isEmpty else { return }
        add("attributes", objects: attributes) { attribute, json in
            json.add("key", attribute.name)
            json.add("value") { value in
                switch attribute.value {
                case .string(let text): value.add("stringValue", text)
                case .stringConvertible(let text): value.add("stringValue", "\(text)")
                case .bool(let flag): value.add("boolValue", flag)
                case .int32(let number): value.add("intValue", String(number))
                case .int64(let number): value.add("intValue", String(number))
                case .double(let number): value.add("doubleValue", json: ProtoJSON.text(number))
                default: break
                }
            }
        }
    }
}

/// Numbers in the JSON mapping of Protocol Buffers. Integers of 64 bits are strings of decimal digits.
enum ProtoJSON {
    /// A number, or one of three strings for what JSON has no number for.
    static func text(_ number: Double) -> String {
        if number.isNaN { return "\"NaN\"" }
        if number.isInfinite { return number < 0 ? "\"-Infinity\"" : "\"Infinity\"" }
        return "\(number)"
    }

    static func array(_ numbers: [Double]) -> String { "[" + numbers.map(text).joined(separator: ",") + "]" }
}
