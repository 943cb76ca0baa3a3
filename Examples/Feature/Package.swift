// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "visits",
    platforms: [.macOS(.v15)],
    dependencies: [
        // Without its features. Leave the traits out to have them all.
        .package(name: "latchkey", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "Visits", dependencies: [.product(name: "LatchkeyService", package: "latchkey")])
    ],
    swiftLanguageModes: [.v6]
)
