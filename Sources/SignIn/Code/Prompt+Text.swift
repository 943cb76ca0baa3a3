import OpenIDConnect
import Primitives

/// `prompt` as it is stored with a sign-in under way.
extension Prompt {
    /// Nil if there is no value.
    static func text(_ prompt: [Prompt]) -> String? {
        prompt.isEmpty ? nil : prompt.map(\.rawValue).joined(separator: " ")
    }

    /// The stored values. An unknown one, which an earlier version did not refuse, is left out.
    static func stored(_ text: String) -> [Prompt] {
        text.split(ascii: " ").compactMap { Prompt(rawValue: String($0)) }
    }
}
