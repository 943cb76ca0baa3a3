import Primitives
import StorageModel
import Testing

@testable import LatchkeyAPI

@Suite struct AdmissionTests {
    @Test("An API key is not shown in what an admission prints")
    func redacted() {
        let key = Array("SECRET-key".utf8)
        let admission = Admission(ground: .key(key[...], TokenHash(sha256Of: "SECRET-key")), clients: nil)
        var dumped = ""
        dump(admission, to: &dumped)
        for text in ["\(admission)", String(reflecting: admission), dumped] {
            #expect(!text.contains("SECRET") && !text.contains("\(key[0]), \(key[1])"), "\(text)")
            #expect(!dumped.contains("- \(key[0])\n"), "\(text)")
        }
    }
}
