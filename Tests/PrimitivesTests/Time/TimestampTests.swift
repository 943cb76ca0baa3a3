import Primitives
import Testing

struct TimestampTests {
    @Test(
        "A difference stops at the ends of the range",
        arguments: [
            (5, 3, 2), (3, 5, -2), (.max, .min, .max), (.min, .max, .min), (0, .min, .max), (-2, .max, .min),
            (.min, .min, 0),
        ] as [(Int64, Int64, Int64)])
    func difference(time: Int64, earlier: Int64, seconds: Int64) {
        let (time, earlier) = (Timestamp(secondsSinceEpoch: time), Timestamp(secondsSinceEpoch: earlier))
        #expect(time.seconds(since: earlier) == seconds)
    }
}
