import Primitives

/// Names a provider, or one of its mobile operators.
package struct ProviderReference: Sendable, Hashable {
    /// The provider's name in paths.
    package let provider: String
    /// The operator's name in requests; nil for the provider itself.
    package let operatorName: String?

    package init(provider: String, operatorName: String? = nil) {
        self.provider = provider
        self.operatorName = operatorName
    }

    /// Reads ``text``.
    package init(text: String) {
        let parts = text.split(ascii: "/", maxSplits: 1)
        self.init(provider: parts.first.map(String.init) ?? "", operatorName: parts.count > 1 ? String(parts[1]) : nil)
    }

    /// The name in records, logs and metrics: the provider's, and after a slash the operator's. No name of
    /// a provider has a slash.
    package var text: String { operatorName.map { "\(provider)/\($0)" } ?? provider }
}
