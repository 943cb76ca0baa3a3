package import StorageModel

/// How many different users there were, in 2,048 bytes and without their names (HyperLogLog).
///
/// The standard error is 2.3 %. Small numbers are nearly exact. The sketch of two sets together has the larger value of
/// each register, so that instances and days add up, and a user counts once.
package struct ActiveUserSketch: Sendable, Hashable {
    private static let indexBits = 11
    private static let count = 1 << indexBits
    /// The bits of a hash that a register looks at.
    private static let valueBits = 64 - indexBits

    /// For each part of the users, the longest run of zeros in the hash of one of them, and 1.
    package private(set) var registers: [UInt8]

    package init() { registers = [UInt8](repeating: 0, count: Self.count) }

    /// Nil for what cannot be registers.
    package init?(registers: [UInt8]) {
        guard registers.count == Self.count, registers.allSatisfy({ $0 <= Self.valueBits + 1 }) else { return nil }
        self.registers = registers
    }

    package mutating func add(_ user: UserID) {
        let hash = Self.hash(UInt64(bitPattern: user.number))
        let index = Int(hash >> UInt64(Self.valueBits))
        // The bit behind the value ends the zeros.
        let value = hash << UInt64(Self.indexBits) | 1 << UInt64(Self.indexBits - 1)
        let run = UInt8(value.leadingZeroBitCount + 1)
        if run > registers[index] { registers[index] = run }
    }

    package mutating func formUnion(_ other: ActiveUserSketch) {
        registers.withUnsafeMutableBufferPointer { own in
            other.registers.withUnsafeBufferPointer { others in
                for index in 0..<Self.count { own[index] = max(own[index], others[index]) }
            }
        }
    }

    /// The number of users, by the estimator of Ertl (arXiv:1702.01284, algorithm 6), which needs no tables.
    package var estimate: Int64 {
        var counts = [Int](repeating: 0, count: Self.valueBits + 2)
        for register in registers { counts[Int(register)] += 1 }
        let size = Double(Self.count)
        guard counts[0] < Self.count else { return 0 }
        var sum = size * Self.tau(1 - Double(counts[Self.valueBits + 1]) / size)
        for value in (1...Self.valueBits).reversed() { sum = 0.5 * (sum + Double(counts[value])) }
        sum += size * Self.sigma(Double(counts[0]) / size)
        let halfOfInverseLogarithm = 0.721_347_520_444_481_7  // 1 / (2 ln 2)
        // Registers from a database may be any: their number may have no end.
        return Int64(exactly: (halfOfInverseLogarithm * size * size / sum).rounded()) ?? .max
    }

    /// The share of empty registers, below 1.
    private static func sigma(_ share: Double) -> Double {
        var (power, factor, sum, before) = (share, 1.0, share, -1.0)
        while sum != before {
            power *= power
            before = sum
            sum += power * factor
            factor += factor
        }
        return sum
    }

    /// The share of registers that are not full.
    private static func tau(_ share: Double) -> Double {
        guard share > 0, share < 1 else { return 0 }
        var (root, factor, sum, before) = (share, 1.0, 1 - share, -1.0)
        while sum != before {
            root = root.squareRoot()
            before = sum
            factor *= 0.5
            sum -= (1 - root) * (1 - root) * factor
        }
        return sum / 3
    }

    /// SplitMix64's output function: it spreads numbers that follow each other, and is the same at every instance.
    private static func hash(_ number: UInt64) -> UInt64 {
        var hash = number &+ 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
        return hash ^ hash >> 31
    }
}
