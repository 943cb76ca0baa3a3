extension String {
    /// Whether no character has more than 30 combining marks: Unicode's Stream-Safe Text Format (UAX #15 section 13).
    ///
    /// To compare or hash texts, Swift sorts the marks of each character in a time that is quadratic in their number.
    /// Without this bound, some kilobytes of marks would take a good part of a second.
    public var isStreamSafe: Bool {
        var marks = 0
        for scalar in unicodeScalars {
            // The first combining mark is U+0300.
            guard scalar.value >= 0x300, scalar.properties.canonicalCombiningClass != .notReordered else {
                marks = 0
                continue
            }
            marks += 1
            guard marks <= 30 else { return false }
        }
        return true
    }

    /// Whether all characters are ASCII.
    public var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
}
