/// An element of an ``IndexedHeap``; in one heap at a time.
protocol HeapElement: AnyObject {
    /// For its heap only.
    var heapIndex: Int { get set }
    func precedes(_ other: Self) -> Bool
}

/// A binary heap whose elements know their index, so that any of them can be removed or moved in logarithmic time.
struct IndexedHeap<Element: HeapElement> {
    private var elements: [Element] = []

    var first: Element? { elements.first }

    var isEmpty: Bool { elements.isEmpty }

    mutating func insert(_ element: Element) {
        element.heapIndex = elements.count
        elements.append(element)
        rise(element.heapIndex)
    }

    mutating func remove(_ element: Element) {
        let index = element.heapIndex
        let last = elements.removeLast()
        guard last !== element else { return }
        put(last, at: index)
        update(last)
    }

    /// Puts an element to its place after its order has changed.
    mutating func update(_ element: Element) {
        rise(element.heapIndex)
        sink(element.heapIndex)
    }

    private mutating func put(_ element: Element, at index: Int) {
        elements[index] = element
        element.heapIndex = index
    }

    private mutating func rise(_ start: Int) {
        let element = elements[start]
        var index = start
        while index > 0, element.precedes(elements[(index - 1) / 2]) {
            put(elements[(index - 1) / 2], at: index)
            index = (index - 1) / 2
        }
        put(element, at: index)
    }

    private mutating func sink(_ start: Int) {
        let element = elements[start]
        var index = start
        while case var child = 2 * index + 1, child < elements.count {
            if child + 1 < elements.count, elements[child + 1].precedes(elements[child]) { child += 1 }
            guard elements[child].precedes(element) else { break }
            put(elements[child], at: index)
            index = child
        }
        put(element, at: index)
    }
}
