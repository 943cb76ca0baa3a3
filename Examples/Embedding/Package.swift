// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "embedding",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "latchkey", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    ],
    targets: [
        .executableTarget(
            name: "Embedding",
            dependencies: [
                .product(name: "CarrierSimulator", package: "latchkey"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "LatchkeyService", package: "latchkey"),
                .product(name: "OpenIDConnect", package: "latchkey"),
                .product(name: "SystemPackage", package: "swift-system"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
