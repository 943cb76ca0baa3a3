import CommandLineSupport
import LatchkeyFeatures

/// `latchkey`: the server, with the features of this build.
@main
enum Latchkey {
    static func main() async { await ServerProgram.main(with: .standard) }
}
