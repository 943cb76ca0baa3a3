import Synchronization

/// The values of a label, fixed at the start, so that no request can add one.
public struct LabelValues: Sendable {
    package let label: MetricDescription.Label
    package let values: [String]

    /// - Parameter meaning: What they tell apart, for the documentation.
    public init(_ name: String, _ values: [String], _ meaning: String) {
        label = MetricDescription.Label(name, meaning)
        self.values = values
    }

    var count: Int { values.count }
}

/// What a counter or a histogram counts: its description, and all combinations of its labels' fixed values, numbered.
package struct MetricFamily: Sendable {
    package let description: MetricDescription
    private let rowLabels: [MetricDescription.Label]
    /// The labels of the row in ``BoundedRows``.
    private var rowValues: [(name: String, value: String)] = []
    private let dimensions: [LabelValues]
    let size: Int

    /// - Parameter rows: The labels of a row, which precede the others.
    package init(
        _ name: String, _ kind: MetricDescription.Kind, _ help: String, rows: [MetricDescription.Label] = [],
        by dimensions: [LabelValues]
    ) {
        description = MetricDescription(name, kind, help, labels: rows + dimensions.map(\.label))
        rowLabels = rows
        self.dimensions = dimensions
        size = dimensions.reduce(1) { $0 * max(1, $1.count) }
    }

    /// The part of a row.
    /// - Parameter values: The values of the row's labels, in their order.
    package func row(_ values: String...) -> MetricFamily {
        var copy = self
        copy.rowValues = zip(rowLabels, values).map { ($0.name, $1) }
        return copy
    }

    /// The points of the combinations that have a value.
    func points(_ value: (Int) -> MetricPoint.Value?) -> [MetricPoint] {
        (0..<size).compactMap { number in
            value(number).map { MetricPoint(value: $0, labels: rowValues + labels(of: number)) }
        }
    }

    private func labels(of number: Int) -> [(name: String, value: String)] {
        var rest = number
        var labels: [(name: String, value: String)] = []
        for dimension in dimensions.reversed() {
            labels.append((dimension.label.name, dimension.values[rest % dimension.count]))
            rest /= dimension.count
        }
        return labels.reversed()
    }

    /// The number of a combination of up to three indexes; an index out of range is the last.
    func number(_ first: Int, _ second: Int, _ third: Int) -> Int {
        var number = 0
        if dimensions.count > 0 { number = place(first, in: 0) }
        if dimensions.count > 1 { number = number * dimensions[1].count + place(second, in: 1) }
        if dimensions.count > 2 { number = number * dimensions[2].count + place(third, in: 2) }
        return number
    }

    private func place(_ place: Int, in dimension: Int) -> Int { min(max(0, place), dimensions[dimension].count - 1) }
}

/// Numbers that any thread can add to with one atomic instruction, without locks and allocations.
///
/// Sendable without the compiler's check: the pointer is constant, and the memory is atomic.
final class Cells: @unchecked Sendable {
    private let storage: UnsafeMutablePointer<Atomic<UInt64>>
    let count: Int

    init(_ count: Int) {
        self.count = max(1, count)
        storage = .allocate(capacity: self.count)
        for index in 0..<self.count { (storage + index).initialize(to: Atomic(0)) }
    }

    deinit {
        storage.deinitialize(count: count)
        storage.deallocate()
    }

    /// Adds to a cell; an index out of range counts as the last.
    func add(_ amount: UInt64, at index: Int) {
        storage[min(max(0, index), count - 1)].wrappingAdd(amount, ordering: .relaxed)
    }

    func value(at index: Int) -> UInt64 {
        index >= 0 && index < count ? storage[index].load(ordering: .relaxed) : 0
    }
}
