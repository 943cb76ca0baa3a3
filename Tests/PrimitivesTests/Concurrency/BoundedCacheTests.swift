import TestSupport
import Testing

@testable import Primitives

@Suite("A bounded cache")
struct BoundedCacheTests {
    private let start = Timestamp(secondsSinceEpoch: 1000)

    private func later(_ seconds: Int64) -> Timestamp { start.advanced(bySeconds: seconds) }

    @Test("keeps as many values as its capacity, and drops the oldest first", arguments: [1, 2, 100])
    func capacity(_ capacity: Int) {
        var cache = BoundedCache<Int, Int>(capacity: capacity)
        for number in 0..<5000 {
            cache.put(-number, for: number)
            #expect(cache.count == min(number + 1, capacity))
        }
        #expect(cache.entries.map(\.key) == Array((5000 - capacity)..<5000))
        #expect(cache[4999] == -4999)
        #expect(cache[4999 - capacity] == nil)
    }

    @Test("has room for one value at least", arguments: [0, -1, Int.min])
    func leastCapacity(_ capacity: Int) {
        var cache = BoundedCache<Int, Int>(capacity: capacity)
        cache.put(1, for: 1)
        cache.put(2, for: 2)
        #expect(cache.entries.map(\.key) == [2])
    }

    @Test("with weights keeps what weighs no more than its capacity, and no value that alone weighs more")
    func weights() {
        var cache = BoundedCache<String, Int>(capacity: 10)
        cache.put(1, for: "a", weighing: 4)
        cache.put(2, for: "b", weighing: 4)
        cache.put(3, for: "c", weighing: 2)
        #expect(cache.entries.map(\.key) == ["a", "b", "c"] && cache.weight == 10)
        cache.put(4, for: "d", weighing: 5)
        #expect(cache.entries.map(\.key) == ["c", "d"] && cache.weight == 7)
        cache.put(5, for: "d", weighing: 8)
        #expect(cache.entries.map(\.key) == ["c", "d"] && cache.weight == 10)
        cache.put(6, for: "e", weighing: 11)
        #expect(cache.entries.map(\.key) == ["c", "d"])
        cache.put(7, for: "c", weighing: 11)
        #expect(cache.entries.map(\.key) == ["d"] && cache.weight == 8)
        cache.remove("d")
        #expect(cache.weight == 0)
    }

    @Test("with weights keeps a replaced value's weight with its age")
    func weightOfInsertion() {
        var cache = BoundedCache<String, Int>(capacity: 10, age: .insertion)
        for key in ["a", "b", "c"] { cache.put(1, for: key, weighing: 3) }
        cache.put(2, for: "b", weighing: 11)
        #expect(cache.entries.map(\.key) == ["a", "b", "c"] && cache["b"] == 2 && cache.weight == 9)
    }

    @Test("can be emptied at once, and keeps its limits")
    func removeAll() {
        var cache = BoundedCache<Int, Int>(capacity: 2, lifetime: 60)
        cache.put(1, for: 1, at: start)
        cache.removeAll()
        #expect(cache.count == 0 && cache.weight == 0 && cache[1] == nil)
        for number in 1...3 { cache.put(number, for: number, at: start) }
        #expect(cache.entries.map(\.key) == [2, 3])
        #expect(cache.value(for: 3, at: later(61)) == nil)
    }

    @Test("removes what has expired, also where nothing is put in")
    func removeExpired() {
        var cache = BoundedCache<Int, Int>(capacity: 100, lifetime: 60)
        for number in 0..<50 { cache.put(number, for: number, at: later(Int64(number))) }
        cache.removeExpired(at: later(100))
        #expect(cache.entries.map(\.key) == Array(40..<50))
    }

    @Test("keeps what is younger than a value that comes late")
    func late() {
        var cache = BoundedCache<Int, Int>(capacity: 10, lifetime: 4)
        cache.put(1, for: 1, at: later(5))
        cache.put(2, for: 2, at: start)
        #expect(cache.value(for: 1, at: later(5)) == 1)
    }

    @Test("whose age counts from the update drops what was put in longest ago")
    func update() {
        var cache = BoundedCache<String, Int>(capacity: 3, age: .update)
        for (key, value) in [("a", 1), ("b", 2), ("c", 3), ("a", 4), ("d", 5)] { cache.put(value, for: key) }
        #expect(cache.entries.map(\.key) == ["c", "a", "d"])
        #expect(cache["a"] == 4)
    }

    @Test("whose age counts from the insertion drops what came first, changed since or not")
    func insertion() {
        var cache = BoundedCache<String, Int>(capacity: 3, age: .insertion)
        for (key, value) in [("a", 1), ("b", 2), ("c", 3), ("a", 4)] { cache.put(value, for: key) }
        #expect(cache["a"] == 4)
        cache.put(5, for: "d")
        #expect(cache.entries.map(\.key) == ["b", "c", "d"])
    }

    @Test("does not make a value newer by reading it")
    func reading() {
        var cache = BoundedCache<String, Int>(capacity: 2)
        cache.put(1, for: "a")
        cache.put(2, for: "b")
        _ = (cache["a"], cache.value(for: "a", at: start))
        cache.put(3, for: "c")
        #expect(cache.entries.map(\.key) == ["b", "c"])
    }

    @Test("forgets what is removed, wherever it is, and uses its room again")
    func removal() {
        for removed in 0..<4 {
            var cache = BoundedCache<Int, String>(capacity: 4)
            for number in 0..<4 { cache.put("\(number)", for: number) }
            #expect(cache.remove(removed) == "\(removed)")
            #expect(cache.remove(removed) == nil)
            #expect(cache[removed] == nil)
            #expect(cache.entries.map(\.key) == (0..<4).filter { $0 != removed })
            cache.put("4", for: 4)
            #expect(cache.count == 4)
            cache.put("5", for: 5)
            #expect(cache.entries.map(\.key) == (0..<4).filter { $0 != removed }.dropFirst() + [4, 5])
        }
    }

    @Test("can be emptied and filled again")
    func emptied() {
        var cache = BoundedCache<Int, Int>(capacity: 2)
        cache.put(1, for: 1)
        cache.remove(1)
        #expect(cache.entries.isEmpty)
        cache.put(2, for: 2)
        cache.put(3, for: 3)
        #expect(cache.entries.map(\.key) == [2, 3])
    }

    @Test(
        "with a lifetime gives a value for that long in both directions of the clock",
        arguments: [(0, true), (60, true), (61, false), (-60, true), (-61, false)] as [(Int64, Bool)])
    func lifetime(_ seconds: Int64, _ isKept: Bool) {
        var cache = BoundedCache<Int, Int>(capacity: 100, age: .insertion, lifetime: 60)
        cache.put(1, for: 1, at: start)
        #expect((cache.value(for: 1, at: later(seconds)) == 1) == isKept)
        #expect(cache[1] == 1)
    }

    @Test(
        "with a lifetime keeps a changed value for longer only if its age counts from the update",
        arguments: [(BoundedCache<Int, Int>.Age.insertion, nil), (.update, 2)] as [(BoundedCache<Int, Int>.Age, Int?)])
    func renewal(_ age: BoundedCache<Int, Int>.Age, _ found: Int?) {
        var cache = BoundedCache<Int, Int>(capacity: 100, age: age, lifetime: 60)
        cache.put(1, for: 1, at: start)
        cache.put(2, for: 1, at: later(30))
        #expect(cache.value(for: 1, at: later(60)) == 2)
        #expect(cache.value(for: 1, at: later(61)) == found)
    }

    @Test("drops what has expired when a value is put in")
    func expiry() {
        var cache = BoundedCache<Int, Int>(capacity: 100, age: .insertion, lifetime: 60)
        for number in 0..<50 { cache.put(number, for: number, at: later(Int64(number))) }
        cache.put(50, for: 50, at: later(100))
        #expect(cache.entries.map(\.key) == Array(40...50))
    }

    @Test("agrees with a plain list over a long run of random operations", arguments: [1, 8, 100])
    func model(_ capacity: Int) {
        var generator = SeededGenerator(seed: UInt64(capacity))
        for age in [BoundedCache<Int, Int>.Age.insertion, .update] {
            var cache = BoundedCache<Int, Int>(capacity: capacity, age: age)
            var list: [(key: Int, value: Int)] = []
            for value in 0..<5000 {
                let key = Int.random(in: 0..<(2 * capacity), using: &generator)
                let index = list.firstIndex { $0.key == key }
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    #expect(cache.remove(key) == index.map { list[$0].value })
                    if let index { list.remove(at: index) }
                } else {
                    cache.put(value, for: key)
                    if let index, age == .insertion {
                        list[index].value = value
                    } else {
                        if let index { list.remove(at: index) } else if list.count == capacity { list.removeFirst() }
                        list.append((key, value))
                    }
                }
                #expect(cache.entries.elementsEqual(list, by: ==))
                #expect(cache.count == list.count)
                #expect(cache[key] == list.first { $0.key == key }?.value)
            }
        }
    }

    @Test("takes no more places than twice its capacity, however often its values change")
    func places() {
        var cache = BoundedCache<Int, Int>(capacity: 64, age: .update)
        cache.put(0, for: -1)
        for number in 0..<10_000 {
            cache.put(number, for: number % 40)
            if number % 3 == 0 { cache.remove(number % 7) }
            // The oldest is never changed, so that removed entries gather behind it.
            #expect(cache.ring.count <= 128)
        }
        #expect(cache.entries.first?.key == -1)
    }
}
