extension String {
    /// With spaces up to a width, at least one.
    package func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - utf8.count))
    }
}
