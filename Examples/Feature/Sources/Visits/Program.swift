import CommandLineSupport
import LatchkeyFeatures
import LatchkeyService

/// The server with one more feature: `Visits serve --config visits.yaml`.
@main
enum Program {
    static func main() async { await ServerProgram.main(with: .standard.adding(VisitsFeature.self)) }
}
