// swift-tools-version:6.2
import PackageDescription

// The targets stand in the order in which they may import each other: downwards never, upwards only.
let package = Package(
    name: "latchkey",
    platforms: [.macOS(.v15), .iOS(.v15)],
    products: [
        .executable(name: "latchkey", targets: ["latchkey"]),
        .executable(name: "carrier-simulator", targets: ["carrier-simulator"]),
        .library(name: "OpenIDConnect", targets: ["OpenIDConnect"]),
        .library(name: "HTTPServer", targets: ["HTTPServer"]),
        .library(name: "CarrierSimulator", targets: ["CarrierSimulator"]),
        .library(name: "LatchkeyClient", targets: ["LatchkeyClient"]),
        .library(name: "LatchkeyService", targets: ["LatchkeyConfiguration", "LatchkeyService"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        // What the Swift modules of the C library do not show, curl's variadic setters, and the macros of zlib and OpenSSL.
        .target(name: "CLatchkeySystem"),
        .target(name: "CLatchkeyCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CLatchkeyZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(name: "CLatchkeyPostgres", linkerSettings: [.linkedLibrary("pq")]),
        .target(name: "CLatchkeyOpenSSL", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),

        // Values all may use: strict JSON, base64url, secrets, time, randomness.
        .target(name: "Primitives", dependencies: ["CLatchkeySystem"]),

        // Knows HTTP, and nothing of sign-in.
        .target(
            name: "HTTPServer",
            dependencies: [
                "CLatchkeyOpenSSL", "CLatchkeySystem", "CLatchkeyZlib", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Knows the protocol, and neither a socket nor a table.
        .target(
            name: "OpenIDConnect",
            dependencies: [
                "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),

        // Knows curl.
        .target(name: "OutboundHTTP", dependencies: ["CLatchkeyCurl", "OpenIDConnect"]),

        // The records that are stored, and what use cases ask of a store; knows no database.
        .target(
            name: "StorageModel",
            dependencies: ["Primitives", .product(name: "Crypto", package: "swift-crypto")]),

        // Knows SQLite and PostgreSQL.
        .target(
            name: "Storage",
            dependencies: [
                "CLatchkeyPostgres", "Primitives", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),

        // Knows what a sign-in is.
        .target(
            name: "SignIn",
            dependencies: [
                "OpenIDConnect", "Primitives", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Knows how a sign-in is asked for over HTTP.
        .target(
            name: "LatchkeyAPI",
            dependencies: [
                "HTTPServer", "OpenIDConnect", "Primitives", "SignIn", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),

        // A carrier to sign in with where there is none; shares no check with OpenIDConnect.
        .target(
            name: "CarrierSimulator",
            dependencies: [
                "HTTPServer", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .executableTarget(
            name: "carrier-simulator",
            dependencies: [
                "CarrierSimulator", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),

        // Knows how operators want to be told.
        .target(
            name: "Observability",
            dependencies: ["Primitives", .product(name: "Logging", package: "swift-log")]),

        // Reads what an operator decides.
        .target(
            name: "LatchkeyConfiguration",
            dependencies: [
                "HTTPServer", "OpenIDConnect", "Primitives",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ]),

        // Puts the parts together.
        .target(
            name: "LatchkeyService",
            dependencies: [
                "CLatchkeySystem", "CarrierSimulator", "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration",
                "Observability",
                "OpenIDConnect", "OutboundHTTP", "Primitives", "SignIn", "Storage", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .executableTarget(
            name: "latchkey",
            dependencies: [
                "LatchkeyConfiguration", "LatchkeyService", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // What apps import; shares nothing with the server, so that it builds for phones.
        .target(name: "LatchkeyClient", dependencies: [.product(name: "Crypto", package: "swift-crypto")]),

        // For tests only.
        .target(
            name: "TestSupport",
            dependencies: [
                "CLatchkeySystem", "OpenIDConnect", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/TestSupport"),
        .testTarget(name: "PrimitivesTests", dependencies: ["Primitives", "TestSupport"]),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "CLatchkeyZlib", "HTTPServer", "TestSupport", "Primitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "OpenIDConnectTests",
            dependencies: [
                "OpenIDConnect", "Primitives", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "OutboundHTTPTests", dependencies: ["OutboundHTTP", "OpenIDConnect", "Primitives", "TestSupport"]),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "Storage", "StorageModel", "Primitives", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "LatchkeyAPITests",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "OpenIDConnect", "Primitives", "SignIn", "Storage", "StorageModel",
                "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "CarrierSimulatorTests",
            dependencies: [
                "CarrierSimulator", "HTTPServer", "Primitives", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: ["Observability", "Primitives", .product(name: "Logging", package: "swift-log")]),
        .testTarget(
            name: "LatchkeyConfigurationTests",
            dependencies: ["HTTPServer", "LatchkeyConfiguration", "OpenIDConnect", "Primitives", "TestSupport"]),
        .testTarget(
            name: "LatchkeyTests",
            dependencies: [
                "CarrierSimulator", "HTTPServer", "LatchkeyAPI", "LatchkeyClient", "LatchkeyConfiguration",
                "LatchkeyService", "Observability",
                "OpenIDConnect", "Primitives", "Storage", "StorageModel", "TestSupport", "latchkey",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// The targets in C have no Swift settings.
for target in package.targets
where !["CLatchkeySystem", "CLatchkeyCurl", "CLatchkeyZlib", "CLatchkeyOpenSSL", "CLatchkeyPostgres"].contains(
    target.name)
{
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .treatAllWarnings(as: .error),
    ]
}
