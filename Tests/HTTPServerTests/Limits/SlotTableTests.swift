import EventLoops
import HTTPServer
import Primitives
import TestSupport
import Testing

@Suite("Who gives way")
struct SlotTableTests {
    /// A table of 8 slots, and who gives way in it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The address of each slot, and for how many milliseconds it has been idle; nil while it is busy.
        let slots: [(address: String, rest: Int?)]
        let newcomer: String
        /// The index of the slot that gives way; nil if there is none.
        let victim: Int?
    }

    private static func many(_ count: Int, _ address: String, _ rest: Int?) -> [(address: String, rest: Int?)] {
        (0..<count).map { index in (address, rest.map { $0 - index }) }
    }

    private static let cases = [
        Case(
            testDescription: "the heaviest address gives way at once, with its idlest slot",
            slots: many(6, "10.0.0.1", 90) + [("10.0.0.2", 5000), ("10.0.0.3", 6000)], newcomer: "10.0.0.4",
            victim: 0),
        Case(
            testDescription: "not the idlest of all",
            slots: [("10.0.0.2", 9000), ("10.0.0.2", 9000), ("10.0.0.1", 1)] + many(5, "10.0.0.1", 50),
            newcomer: "10.0.0.2", victim: 3),
        Case(
            testDescription: "the heaviest address takes from itself, after a second",
            slots: many(7, "10.0.0.1", 1006) + [("10.0.0.2", 5000)], newcomer: "10.0.0.1", victim: 0),
        Case(
            testDescription: "the heaviest address waits before that",
            slots: many(7, "10.0.0.1", 999) + [("10.0.0.2", 5000)], newcomer: "10.0.0.1", victim: nil),
        Case(
            testDescription: "an address that would then have as much as the heaviest waits, too",
            slots: many(4, "10.0.0.1", 900) + many(4, "10.0.0.2", 900), newcomer: "10.0.0.2", victim: nil),
        Case(
            testDescription: "of equal addresses, the idlest slot of all gives way",
            slots: (1...8).map { ("10.0.0.\($0)", $0 == 5 ? 3000 : 1000 + $0) }, newcomer: "10.0.0.9", victim: 4),
        Case(
            testDescription: "of equal addresses, none gives way before a second",
            slots: (1...8).map { ("10.0.0.\($0)", 900) }, newcomer: "10.0.0.9", victim: nil),
        Case(
            testDescription: "a slot that works stays",
            slots: [("10.0.0.1", nil), ("10.0.0.1", nil), ("10.0.0.1", 20), ("10.0.0.1", nil)]
                + many(4, "10.0.0.2", 10), newcomer: "10.0.0.3", victim: 2),
        Case(
            testDescription: "if all of the heaviest work, the next one gives way",
            slots: many(5, "10.0.0.1", nil) + many(3, "10.0.0.2", 10), newcomer: "10.0.0.3", victim: 5),
        Case(
            testDescription: "but not a lighter one than the newcomer",
            slots: many(5, "10.0.0.1", nil) + [("10.0.0.2", 9000), ("10.0.0.3", nil), ("10.0.0.3", nil)],
            newcomer: "10.0.0.3", victim: nil),
        Case(
            testDescription: "if all work, none gives way", slots: many(8, "10.0.0.1", nil), newcomer: "10.0.0.2",
            victim: nil),
        Case(
            testDescription: "a /64 counts as one address",
            slots: (1...5).map { ("2001:db8::\($0)", 100 - $0) } + many(3, "2001:db8:0:1::1", 9000),
            newcomer: "2001:db8:0:2::1", victim: 0),
        Case(testDescription: "there is room", slots: many(7, "10.0.0.1", 9000), newcomer: "10.0.0.2", victim: nil),
    ]

    @Test("The idlest slot of the heaviest address gives way", arguments: cases)
    func victim(_ row: Case) {
        let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        // In any order of addition.
        for turn in 0..<row.slots.count {
            var table = SlotTable(maximum: 8)
            let holder = EvictionRecorder()
            for offset in row.slots.indices {
                let index = (offset + turn) % row.slots.count
                let (address, rest) = row.slots[index]
                // All began at the same time, and did something later.
                let slot = holder.slot(index, of: address, at: start)
                table.put(slot)
                if let rest {
                    slot.markIdle(at: MonotonicTime(nanoseconds: now.nanoseconds - UInt64(rest) * 1_000_000))
                } else {
                    slot.markBusy()
                }
            }
            let network = IPAddress(row.newcomer)?.network
            switch table.makeRoom(for: network, patience: .seconds(1), at: now) {
            case .replacing(let slot):
                #expect(holder.number(of: slot) == row.victim)
                #expect(table.weight == 7)
            case .free: #expect(row.victim == nil && row.slots.count < 8)
            case .none: #expect(row.victim == nil && row.slots.count == 8 && table.weight == 8)
            }
        }
    }

    @Test("An address that holds its slots with requests loses one at once")
    func kept() {
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        var now = start
        var table = SlotTable(maximum: 1000)
        let holder = EvictionRecorder()
        let slots = (0..<1000).map { holder.slot($0, of: "10.0.0.1", at: start) }
        for slot in slots { table.put(slot) }
        for number in 1...200 {
            now = now.advanced(by: .milliseconds(1))
            for slot in slots { slot.markIdle(at: now) }
            guard
                case .replacing(let slot) = table.makeRoom(
                    for: IPAddress("10.1.0.\(number)"), patience: .seconds(1), at: now)
            else {
                Issue.record("newcomer \(number) got no slot")
                return
            }
            #expect(slot.network == IPAddress("10.0.0.1"))
            table.put(holder.slot(1000 + number, of: "10.1.0.\(number)", at: now))
        }
    }

    @Test("Whatever comes and goes, the weights are right, and the heaviest is found", arguments: 1...4)
    func random(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var table = SlotTable(maximum: .max)
        let holder = EvictionRecorder()
        var held: [(slot: Slot, weight: Int)] = []
        for step in 0..<3000 {
            let now = MonotonicTime(nanoseconds: UInt64(1 + step) * 1_000_000)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let slot = holder.slot(step, of: "10.0.0.\(Int.random(in: 1...20, using: &random))", at: now)
                held.append((slot, Int.random(in: 1...100, using: &random)))
                table.put(slot, weight: held[held.count - 1].weight)
            case 5..<7 where !held.isEmpty:
                let index = Int.random(in: held.indices, using: &random)
                held[index].weight = Int.random(in: 1...100, using: &random)
                table.put(held[index].slot, weight: held[index].weight)
            case 7..<9 where !held.isEmpty:
                table.remove(held.remove(at: Int.random(in: held.indices, using: &random)).slot)
            default:
                let weights = Dictionary(grouping: held, by: \.slot.network).mapValues {
                    $0.reduce(0) { $0 + $1.weight }
                }
                let removed = table.removeHeaviest(at: now)
                #expect((removed == nil) == held.isEmpty)
                guard let removed else { continue }
                #expect(weights[removed.network] == weights.values.max())
                held.removeAll { $0.slot === removed }
            }
            #expect(table.weight == held.reduce(0) { $0 + $1.weight })
        }
    }
}
