import Primitives
import Testing

struct UTCTimeTests {
    @Test(
        "A time is written in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
            (Int64.max, "9999-12-31T23:59:59Z"), (Int64.min, "0000-01-01T00:00:00Z"),
        ] as [(Int64, String)])
    func utc(seconds: Int64, text: String) {
        #expect(UTCTime.text(Timestamp(secondsSinceEpoch: seconds)) == text)
    }

    @Test(
        "A written time reads back as the same time",
        arguments: [0, 951_782_400, -1, 4_107_542_399, 253_402_300_799, -62_167_219_200, 1_795_222_923] as [Int64])
    func roundTrip(seconds: Int64) {
        let moment = Timestamp(secondsSinceEpoch: seconds)
        #expect(UTCTime.moment(UTCTime.text(moment), in: .rfc3339) == moment)
    }

    @Test(
        "The forms of protocols are read",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", .http), ("1994-11-06T08:49:37Z", .rfc3339),
        ] as [(String, UTCTime.Form)])
    func forms(text: String, form: UTCTime.Form) {
        #expect(UTCTime.moment(text, in: form)?.secondsSinceEpoch == 784_111_777)
    }

    @Test(
        "A leap second is the first second of the next day",
        arguments: [
            ("Sat, 31 Dec 2016 23:59:60 GMT", .http), ("2016-12-31T23:59:60Z", .rfc3339),
        ] as [(String, UTCTime.Form)])
    func leapSecond(text: String, form: UTCTime.Form) {
        #expect(UTCTime.moment(text, in: form)?.secondsSinceEpoch == 1_483_228_800)
        #expect(UTCTime.moment(text.replacing("23:59:60", with: "23:59:61"), in: form) == nil)
        #expect(UTCTime.moment(text.replacing("23:59:60", with: "22:59:60"), in: form) == nil)
        #expect(UTCTime.moment(text.replacing("23:59:60", with: "23:58:60"), in: form) == nil)
    }

    @Test("A day of the week has letters", arguments: ["[\\]", "S_n", "123", "   "])
    func weekday(text: String) {
        #expect(UTCTime.moment("\(text), 06 Nov 1994 08:49:37 GMT", in: .http) == nil)
    }

    @Test(
        "The text of a time reads back, and so does a day",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2000-02-29", 951_782_400), ("1969-12-31T23:59:59Z", -1),
            ("2100-02-28T23:59:59Z", 4_107_542_399), ("0000-01-01", -62_167_219_200),
        ] as [(String, Int64)])
    func moment(text: String, seconds: Int64) {
        #expect(UTCTime.moment(text) == Timestamp(secondsSinceEpoch: seconds))
    }

    @Test(
        "A text that is not a time has no time",
        arguments: [
            "", "T", "2100-02-29", "2026-13-01", "2026-00-10", "2026-11-31", "2026-11-21T24:00:00Z",
            "2026-11-21T01:60:00Z", "2026-11-21T01:02:60Z", "2026-11-21T01:02:03", "2026-11-21T",
            "2026-11-21 01:02:03Z",
            "26-11-21", "+026-11-21", "2026-11-21T01:02:03+00:00", "２026-11-21",
        ])
    func noMoment(text: String) {
        #expect(UTCTime.moment(text) == nil)
    }

    @Test(
        "A text that is not a date has no time",
        arguments: [
            "", "1994-11-06", "1994-11-06T08:49:37", "1994-13-06T08:49:37Z", "1994-00-06T08:49:37Z",
            "1994-02-29T08:49:37Z", "1994-11-31T08:49:37Z", "1994-11-00T08:49:37Z", "1994-11-06T24:00:00Z",
            "1994-11-06T08:60:00Z", "1994-11-06T08:49:61Z", "1994-11- 6T08:49:37Z", "1994-11-06t08:49:37z",
            "+994-11-06T08:49:37Z", "1994-11-06T08:49:37Z ", "１994-11-06T08:49:37Z",
        ])
    func refused(text: String) {
        #expect(UTCTime.moment(text, in: .rfc3339) == nil)
        #expect(UTCTime.moment(text, in: .http) == nil)
    }
}
