// swift-tools-version:6.2
import PackageDescription

// The client of a Latchkey server for apps. This folder is a package of its own, so that an app resolves nothing of the
// server. The package of the server builds the same sources for its tests.
let package = Package(
    name: "latchkey-client",
    platforms: [.macOS(.v15), .iOS(.v15)],
    products: [.library(name: "LatchkeyClient", targets: ["LatchkeyClient"])],
    dependencies: [.package(url: "https://github.com/apple/swift-crypto", from: "4.5.2")],
    targets: [
        .target(
            name: "LatchkeyClient",
            // Apple's systems have the same functions in CryptoKit.
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto", condition: .when(platforms: [.linux]))
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
