extension String {
    /// Whether no character bears more than 30 combining marks: Unicode's Stream-Safe Text Format (UAX #15 section 13).
    ///
    /// To compare or hash two texts, Swift sorts the marks of each character, in a time that grows with the square of
    /// their number: without this bound, some kilobytes of them would hold a processor up for a good part of a second.
    public var isStreamSafe: Bool {
        var marks = 0
        for scalar in unicodeScalars {
            // There are none before U+0300.
            guard scalar.value >= 0x300, scalar.properties.canonicalCombiningClass != .notReordered else {
                marks = 0
                continue
            }
            marks += 1
            guard marks <= 30 else { return false }
        }
        return true
    }

    public var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
}
