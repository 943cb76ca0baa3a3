import Storage
import Testing

@Suite("The SQLite library")
struct SQLiteLibraryTests {
    @Test(
        "A version is known by its number, with whether it has the fault of the log",
        arguments: [
            (3_040_001, "3.40.1", true), (3_044_005, "3.44.5", true), (3_044_006, "3.44.6", false),
            (3_045_000, "3.45.0", true), (3_050_006, "3.50.6", true), (3_050_007, "3.50.7", false),
            (3_051_000, "3.51.0", true), (3_051_002, "3.51.2", true), (3_051_003, "3.51.3", false),
            (3_053_004, "3.53.4", false), (4_000_000, "4.0.0", false),
        ])
    func versions(_ number: Int, _ version: String, _ hasFault: Bool) {
        let library = SQLiteLibrary(number: CInt(number))
        #expect(library.version == version)
        #expect(library.hasWALResetFault == hasFault)
    }
}
