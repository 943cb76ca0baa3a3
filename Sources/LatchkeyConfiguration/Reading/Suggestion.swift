enum Suggestion {
    /// The candidate nearest to a misspelled name, or nil if none is near.
    static func nearest(to name: String, among candidates: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let allowed = max(1, min(3, name.utf8.count / 3))
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(Array(name.lowercased().utf8), Array(candidate.lowercased().utf8))
            if distance <= allowed, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// The number of insertions, deletions, substitutions and swaps of neighbours between two texts (the optimal string
    /// alignment distance).
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let isSame = left[row - 1] == right[column - 1]
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                let isSwap =
                    row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1]
                if isSwap { cost = min(cost, beforeLast[column - 2] + 1) }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
