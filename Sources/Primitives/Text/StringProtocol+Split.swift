extension StringProtocol where SubSequence == Substring {
    /// The parts of a text between an ASCII character, found by its byte.
    ///
    /// `split(separator:)` compares what a reader sees as one character. A sender could then hide a separator, with a
    /// scalar that joins with it, such as U+0602 before a comma, or add one that only looks like it: U+037E is
    /// equivalent to the semicolon.
    public func split(
        ascii separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Substring] {
        self[...].utf8
            .split(
                separator: UInt8(ascii: separator), maxSplits: maxSplits,
                omittingEmptySubsequences: omittingEmptySubsequences
            )
            .map { Substring($0) }
    }
}
