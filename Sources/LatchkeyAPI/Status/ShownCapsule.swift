package import Primitives

/// A capsule for programs, and its lines for people.
package struct ShownCapsule: Sendable {
    package let json: JSONValue
    package let lines: [String]

    package init(json: JSONValue, lines: [String]) {
        self.json = json
        self.lines = lines
    }
}
