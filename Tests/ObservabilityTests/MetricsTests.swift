import Observability
import Testing

/// Metrics in Prometheus' text format.
@Suite struct MetricsTests {
    private static let colours = LabelValues("colour", ["red", "green", "other"], "what it looks like")
    private static let sizes = LabelValues("size", ["s", "l"], "how large it is")

    private func page(_ metrics: any Metric...) -> String {
        let registry = MetricsRegistry()
        registry.add(metrics)
        return String(decoding: registry.page(), as: UTF8.self)
    }

    @Test("A counter without labels is shown from the start, and one with labels once it has counted")
    func counters() {
        let plain = Counter("a_total", "Things.")
        let split = Counter("b_total", "Others.", by: [Self.colours, Self.sizes])
        #expect(page(plain, split) == "# HELP a_total Things.\n# TYPE a_total counter\na_total 0\n")
        plain.add()
        split.add(2, at: 1, 0)
        split.add(at: 0, 1)
        #expect(
            page(split, plain) == """
                # HELP a_total Things.
                # TYPE a_total counter
                a_total 1
                # HELP b_total Others.
                # TYPE b_total counter
                b_total{colour="red",size="l"} 1
                b_total{colour="green",size="s"} 2

                """)
        #expect(split.value(at: 1, 0) == 2)
    }

    @Test("An index out of range counts as the nearest label value", arguments: [3, 99, Int.max])
    func beyond(place: Int) {
        let counter = Counter("a_total", "Things.", by: [Self.colours])
        counter.add(at: place)
        #expect(counter.value(at: 2) == 1)
        let histogram = Histogram("b_seconds", "Times.", by: [Self.colours, Self.sizes])
        histogram.observe(1, at: place, place)
        #expect(histogram.total(at: 2, 1).count == 1)
        counter.add(at: -1)
        #expect(counter.value(at: 0) == 1)
    }

    @Test("A histogram has cumulative buckets, the sum in seconds, and the count")
    func histograms() {
        let histogram = Histogram("a_seconds", "Times.", bounds: [1_000_000, 2_000_000_000])
        for nanoseconds: UInt64 in [1_000_000, 1_000_001, 2_000_000_000, 3_500_000_000] {
            histogram.observe(nanoseconds)
        }
        #expect(
            page(histogram) == """
                # HELP a_seconds Times.
                # TYPE a_seconds histogram
                a_seconds_bucket{le="0.001"} 1
                a_seconds_bucket{le="2"} 3
                a_seconds_bucket{le="+Inf"} 4
                a_seconds_sum 5.502000001
                a_seconds_count 4

                """)
        #expect(histogram.total() == (4, 5_502_000_001))
    }

    @Test("Rows are created on first use up to the capacity, and further keys count as other")
    func rows() {
        let family = MetricFamily(
            "a_total", .counter, "Things.", rows: [.init("carrier", "whose")], by: [Self.sizes])
        let rows = BoundedRows(capacity: 2, other: "other") { Counter(family.row($0)) }
        for key in 0..<1_000 { rows["\(key)"].add(at: 1) }
        rows["1"].add(at: 0)
        #expect(rows.has("1"))
        #expect(!rows.has("2"))
        #expect(
            page(rows.metric(family) { $0 }) == """
                # HELP a_total Things.
                # TYPE a_total counter
                a_total{carrier="0",size="l"} 1
                a_total{carrier="1",size="s"} 1
                a_total{carrier="1",size="l"} 1
                a_total{carrier="other",size="l"} 998

                """)
    }

    @Test("Characters that would end a line or a value are escaped")
    func escaping() {
        let metric = SampledMetric(
            MetricDescription("a", .gauge, "One \\ two\nthree \"four\".", labels: [.init("text", "any")])
        ) { [.init(0.5, ["one \\ two\nthree \"four\""])] }
        #expect(
            page(metric)
                == "# HELP a One \\\\ two\\nthree \"four\".\n# TYPE a gauge\n"
                + "a{text=\"one \\\\ two\\nthree \\\"four\\\"\"} 0.5\n")
    }

    @Test(
        "Numbers have the form that the format requires",
        arguments: [
            (0.0, "0"), (1, "1"), (-2, "-2"), (0.25, "0.25"), (1e300, "1e+300"), (.infinity, "+Inf"),
            (-.infinity, "-Inf"),
            (.nan, "NaN"), (1_800_000_000, "1800000000"),
        ])
    func numbers(number: Double, text: String) {
        #expect(MetricsPage.text(number) == text)
    }

    @Test("Each name occurs once, and families are sorted by name")
    func registry() {
        let registry = MetricsRegistry()
        registry.add([Counter("b_total", "First."), Counter("b_total", "Second."), Counter("a_total", "Third.")])
        #expect(registry.descriptions.map(\.help) == ["Third.", "First."])
    }

    @Test("No count of concurrent tasks is lost")
    func threads() async {
        let counter = Counter("a_total", "Things.", by: [Self.sizes])
        let histogram = Histogram("a_seconds", "Times.")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        counter.add(at: 1)
                        histogram.observe(1)
                    }
                }
            }
        }
        #expect(counter.value(at: 1) == 8_000)
        #expect(histogram.total() == (8_000, 8_000))
    }
}

/// The metrics of the process itself.
@Suite struct ProcessFiguresTests {
    @Test("The fields of proc_pid_stat(5) are read even if the program's name has parentheses and spaces")
    func fields() throws {
        let stat =
            "1234 (a) b (c) S 1 1234 1234 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 7 0 5000 123456789 42 "
            + "18446744073709551615"
        let figures = try #require(
            ProcessFigures(stat: stat, bootTime: 1_000, ticksPerSecond: 100, pageBytes: 4096))
        #expect(figures.cpuSeconds == 3)
        #expect(figures.threads == 7)
        #expect(figures.startTime == 1_050)
        #expect(figures.virtualBytes == 123_456_789)
        #expect(figures.residentBytes == 42 * 4096)
    }

    @Test(
        "A malformed text gives no figures",
        arguments: ["", "1 (a", "1 (a) S 1", "1 (a) S x x x x x x x x x x x x x x x x x x x x x x"])
    func broken(stat: String) {
        #expect(ProcessFigures(stat: stat, bootTime: 0, ticksPerSecond: 100, pageBytes: 4096) == nil)
    }

    @Test("The running process has figures")
    func now() throws {
        let figures = try #require(ProcessFigures.now())
        #expect(figures.residentBytes > 1_000_000)
        #expect(figures.threads >= 1)
        #expect(figures.startTime > 1_600_000_000)
        #expect(try #require(ProcessFigures.openDescriptors()) > 2)
    }
}
