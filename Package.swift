// swift-tools-version:6.2
import PackageDescription

// The commit, which scripts/build-release names. Only a C file depends on it: a new commit costs the release build that
// file, and linking.
let revision = Context.environment["LATCHKEY_REVISION"].map { [CSetting.define("LATCHKEY_REVISION", to: $0)] }

// What a feature with routes and tables imports.
let withRoutesAndTables: [Target.Dependency] = [
    "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives", "SignIn",
    "Storage", "StorageModel",
    .product(name: "HTTPTypes", package: "swift-http-types"),
    .product(name: "Logging", package: "swift-log"),
]

// The order of the targets is that of their imports: a target imports only targets above it.
let package = Package(
    name: "latchkey",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "latchkey", targets: ["latchkey"]),
        .executable(name: "latchkey-dev", targets: ["latchkey-dev"]),
        .library(name: "OpenIDConnect", targets: ["OpenIDConnect"]),
        .library(name: "HTTPServer", targets: ["HTTPServer"]),
        .library(name: "CarrierSimulator", targets: ["CarrierSimulator"]),
        // With what features of other packages import.
        .library(
            name: "LatchkeyService",
            targets: [
                "CommandLineSupport", "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyFeatures",
                "LatchkeyService", "Observability", "Primitives", "Storage", "StorageModel",
            ]),
        .library(name: "LatchkeyMetrics", targets: ["LatchkeyMetrics"]),
    ],
    // The features that a build can leave out: `swift build --disable-default-traits` makes the core alone.
    traits: [
        .trait(name: "AccountMigration", description: "Accounts that follow their users to another carrier"),
        .trait(name: "Administration", description: "The commands for accounts, API keys, the vault and the database"),
        .trait(name: "AuditSeals", description: "Seals of the audit log, with which a later change of it shows"),
        .trait(name: "Backchannel", description: "Sign-ins that the user approves on their phone (CIBA)"),
        .trait(name: "BoundTokens", description: "Session tokens that are bound to keys of apps (DPoP)"),
        .trait(name: "Capsules", description: "The capsules of failed sign-ins, and their replays"),
        .trait(name: "Examination", description: "The commands doctor, client-metadata and explain-token"),
        .trait(name: "Linking", description: "Further identities of a user, at other providers"),
        .trait(name: "NativeSignIn", description: "Sign-ins with ID tokens that apps get without a browser"),
        .trait(name: "PhoneVerification", description: "Phone numbers that mobile operators verify (CAMARA)"),
        .trait(name: "PostgreSQL", description: "Databases on a PostgreSQL server, which several instances may share"),
        .trait(name: "Presets", description: "Providers that are configured by their name, and latchkey init"),
        .trait(name: "ProviderLogout", description: "Logout at providers, and by their logout tokens"),
        .trait(name: "ProviderResources", description: "Resources of providers, and the refresh of their tokens"),
        .trait(name: "Redirects", description: "Sign-ins by redirects through the browser, with their pages"),
        .trait(name: "Registration", description: "Registration of users who are unknown, instead of their creation"),
        .trait(name: "SecurityEvents", description: "Security events that providers send of their users"),
        .trait(name: "Services", description: "Introspection of tokens for services, and authentication for proxies"),
        .trait(name: "Statistics", description: "Numbers of sign-ins and active users by day and provider"),
        .trait(name: "StatusPage", description: "The administrators' status page"),
        .trait(name: "TelemetryExport", description: "Export of traces and metrics with OpenTelemetry's protocol"),
        .trait(name: "Transactions", description: "Approvals of transactions with a code, and their receipts"),
        .trait(name: "Webhooks", description: "Signed events of accounts and sessions for other systems"),
        .trait(name: "Zephr", description: "The paths of Zephr's OAuth sign-in, for frontends that were made for it"),
        .default(enabledTraits: [
            "AccountMigration", "Administration", "AuditSeals", "Backchannel", "BoundTokens", "Capsules",
            "Examination", "Linking", "NativeSignIn", "PhoneVerification", "PostgreSQL", "Presets", "ProviderLogout",
            "ProviderResources", "Redirects", "Registration", "SecurityEvents", "Services", "Statistics",
            "StatusPage", "TelemetryExport", "Transactions", "Webhooks", "Zephr",
        ]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        // Functions and macros of C libraries that Swift cannot import. C modules cannot be aliased, hence the prefix.
        .target(name: "CLatchkeySystem"),
        .target(name: "CLatchkeyZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(name: "CLatchkeySQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "CLatchkeyPostgres", linkerSettings: [.linkedLibrary("pq")]),
        .target(name: "CLatchkeyOpenSSL", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        // The files of the folder Public, compiled in.
        .target(name: "CLatchkeySite"),
        // The file presets.yaml, compiled in.
        .target(name: "CLatchkeyPresets", exclude: ["presets.yaml"]),
        // The commit of the program.
        .target(name: "CLatchkeyRevision", cSettings: revision),
        .systemLibrary(name: "CLatchkeyYAML", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CLatchkeyIDN", providers: [.apt(["libidn2-dev"])]),

        // Values for all targets: strict JSON, base64url, secrets, time, randomness, requests to other servers.
        .target(name: "Primitives"),

        // Dispatch's threads for work that blocks, and loops that wait with epoll on them.
        .target(name: "EventLoops", dependencies: ["CLatchkeySystem"]),

        // What the server and the client of HTTP share: field lines, the chunked coding, sockets with or without TLS.
        .target(name: "HTTPCore", dependencies: ["CLatchkeyOpenSSL", "EventLoops", "Primitives"]),

        // HTTP, independent of sign-in.
        .target(
            name: "HTTPServer",
            dependencies: [
                "CLatchkeyOpenSSL", "CLatchkeySystem", "CLatchkeyZlib", "EventLoops", "HTTPCore", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // The protocol, independent of sockets and databases.
        .target(
            name: "OpenIDConnect",
            dependencies: [
                "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),

        // Outbound requests.
        .target(
            name: "OutboundHTTP",
            dependencies: [
                "CLatchkeyOpenSSL", "CLatchkeySystem", "CLatchkeyZlib", "EventLoops", "HTTPCore", "Primitives",
            ]),

        // The stored records and the store protocols of the use cases; no database.
        .target(
            name: "StorageModel", dependencies: ["Primitives", .product(name: "Crypto", package: "swift-crypto")]),

        // The store in SQL, and SQLite.
        .target(
            name: "Storage", dependencies: ["CLatchkeySQLite", "EventLoops", "Primitives", "StorageModel"]),

        // The use cases: sign-ins, sessions, accounts.
        .target(
            name: "SignIn",
            dependencies: [
                "CLatchkeyIDN", "OpenIDConnect", "Primitives", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // The use cases as an HTTP API.
        .target(
            name: "LatchkeyAPI",
            dependencies: [
                "CLatchkeySite", "HTTPServer", "OpenIDConnect", "Primitives", "SignIn", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),

        // Simulated carriers. Shares no check with OpenIDConnect: a shared bug would verify itself.
        .target(
            name: "CarrierSimulator",
            dependencies: [
                "HTTPServer", "OutboundHTTP", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Logs and metrics.
        .target(
            name: "Observability",
            dependencies: ["Primitives", .product(name: "Logging", package: "swift-log")]),

        // Reads the operator's configuration into the modules' own values.
        .target(
            name: "LatchkeyConfiguration",
            dependencies: [
                "CLatchkeyYAML", "HTTPCore", "HTTPServer", "LatchkeyAPI", "Observability", "OpenIDConnect",
                "Primitives", "SignIn", "StorageModel",
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Assembles the service.
        .target(
            name: "LatchkeyService",
            dependencies: [
                "CLatchkeyRevision", "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "Observability",
                "OpenIDConnect", "OutboundHTTP", "Primitives", "SignIn", "Storage", "StorageModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),

        // The program of the server with any features, and what all commands use: the console, signals, the options of
        // the configuration.
        .target(
            name: "CommandLineSupport",
            dependencies: [
                "CLatchkeySystem", "LatchkeyConfiguration", "LatchkeyService", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Features, each of which is a trait. They know the core, and no other feature.
        // Accounts that follow their users to another carrier.
        .target(
            name: "AccountMigration",
            dependencies: [
                "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives", "SignIn", "StorageModel",
                .product(name: "Logging", package: "swift-log"),
            ]),
        // The administrator's commands for accounts, keys and the database.
        .target(
            name: "Administration",
            dependencies: [
                "CommandLineSupport", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives",
                "SignIn", "Storage", "StorageModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        // Seals of the audit log.
        .target(
            name: "AuditSeals",
            dependencies: [
                "CommandLineSupport", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives",
                "SignIn", "Storage", "StorageModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        // Backchannel authentication: sign-ins that this server starts, and the user approves on their phone.
        .target(
            name: "Backchannel",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "Observability",
                "OpenIDConnect", "Primitives", "SignIn", "Storage", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        // Session tokens that are bound to keys of apps.
        .target(
            name: "BoundTokens",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives",
                "SignIn", "StorageModel", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        // The capsules of failed sign-ins, and their replays.
        .target(
            name: "Capsules",
            dependencies: [
                "CommandLineSupport", "LatchkeyConfiguration", "LatchkeyService", "Observability", "OpenIDConnect",
                "Primitives", "SignIn", "Storage", "StorageModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        // What an administrator examines: providers, tokens, and what to register.
        .target(
            name: "Examination",
            dependencies: [
                "CommandLineSupport", "HTTPServer", "LatchkeyConfiguration", "LatchkeyService",
                "OpenIDConnect", "OutboundHTTP", "Primitives", "SignIn", "Storage", "StorageModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        // Further identities of a user.
        .target(
            name: "Linking",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives",
                "SignIn", "StorageModel", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        // Sign-ins with ID tokens that apps get from the device or from a provider's SDK.
        .target(name: "NativeSignIn", dependencies: withRoutesAndTables),
        // Phone numbers that mobile operators verify.
        .target(
            name: "PhoneVerification",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "Observability",
                "OpenIDConnect", "Primitives", "SignIn", "Storage", "StorageModel",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        // Databases on a PostgreSQL server.
        .target(
            name: "PostgreSQL",
            dependencies: [
                "CLatchkeyPostgres", "EventLoops", "LatchkeyConfiguration", "LatchkeyService", "Primitives",
                "Storage", "StorageModel",
            ]),
        // Providers that are configured by their name.
        .target(
            name: "Presets",
            dependencies: [
                "CLatchkeyPresets", "CommandLineSupport", "LatchkeyConfiguration", "LatchkeyService", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        // Logout at providers, and by their logout tokens.
        .target(name: "ProviderLogout", dependencies: withRoutesAndTables),
        // The resources of providers, fetched with the tokens of sign-ins.
        .target(name: "ProviderResources", dependencies: withRoutesAndTables),
        // Sign-ins by redirects.
        .target(
            name: "Redirects",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "Observability",
                "OpenIDConnect", "Primitives", "SignIn", "StorageModel",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        // Registration of users who are unknown.
        .target(name: "Registration", dependencies: withRoutesAndTables),
        // Security events that providers send.
        .target(name: "SecurityEvents", dependencies: withRoutesAndTables + ["Observability", "OutboundHTTP"]),
        // Introspection and revocation of tokens, and authentication for proxies.
        .target(
            name: "Services",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives",
                "SignIn", "StorageModel", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        // Numbers of sign-ins and active users by day.
        .target(
            name: "Statistics",
            dependencies: [
                "CommandLineSupport", "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService",
                "Primitives", "SignIn", "Storage", "StorageModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        // The administrators' status page.
        .target(
            name: "StatusPage",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "Observability",
                "OpenIDConnect", "Primitives", "SignIn", "StorageModel",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        // Traces and metrics with OpenTelemetry's protocol.
        .target(
            name: "TelemetryExport",
            dependencies: [
                "LatchkeyConfiguration", "LatchkeyService", "Observability", "OutboundHTTP", "Primitives",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        // Approvals of transactions, and their receipts.
        .target(name: "Transactions", dependencies: withRoutesAndTables),
        // Signed events of accounts and sessions, for other systems.
        .target(
            name: "Webhooks",
            dependencies: [
                "CommandLineSupport", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "Observability",
                "OutboundHTTP", "Primitives", "Storage", "StorageModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        // The paths of Zephr's OAuth sign-in.
        .target(
            name: "Zephr",
            dependencies: [
                "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "Primitives",
                "SignIn", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        // The list of the features.
        .target(
            name: "LatchkeyFeatures",
            dependencies: [
                "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect", "SignIn",
                .target(name: "AccountMigration", condition: .when(traits: ["AccountMigration"])),
                .target(name: "Administration", condition: .when(traits: ["Administration"])),
                .target(name: "AuditSeals", condition: .when(traits: ["AuditSeals"])),
                .target(name: "Backchannel", condition: .when(traits: ["Backchannel"])),
                .target(name: "BoundTokens", condition: .when(traits: ["BoundTokens"])),
                .target(name: "Capsules", condition: .when(traits: ["Capsules"])),
                .target(name: "Examination", condition: .when(traits: ["Examination"])),
                .target(name: "Linking", condition: .when(traits: ["Linking"])),
                .target(name: "NativeSignIn", condition: .when(traits: ["NativeSignIn"])),
                .target(name: "PhoneVerification", condition: .when(traits: ["PhoneVerification"])),
                .target(name: "PostgreSQL", condition: .when(traits: ["PostgreSQL"])),
                .target(name: "Presets", condition: .when(traits: ["Presets"])),
                .target(name: "ProviderLogout", condition: .when(traits: ["ProviderLogout"])),
                .target(name: "ProviderResources", condition: .when(traits: ["ProviderResources"])),
                .target(name: "Redirects", condition: .when(traits: ["Redirects"])),
                .target(name: "Registration", condition: .when(traits: ["Registration"])),
                .target(name: "SecurityEvents", condition: .when(traits: ["SecurityEvents"])),
                .target(name: "Services", condition: .when(traits: ["Services"])),
                .target(name: "Statistics", condition: .when(traits: ["Statistics"])),
                .target(name: "StatusPage", condition: .when(traits: ["StatusPage"])),
                .target(name: "TelemetryExport", condition: .when(traits: ["TelemetryExport"])),
                .target(name: "Transactions", condition: .when(traits: ["Transactions"])),
                .target(name: "Webhooks", condition: .when(traits: ["Webhooks"])),
                .target(name: "Zephr", condition: .when(traits: ["Zephr"])),
            ]
        ),

        // The service's metrics for swift-metrics. Programs that embed the service and want them depend on it.
        .target(
            name: "LatchkeyMetrics",
            dependencies: [
                "LatchkeyService", "Observability", .product(name: "CoreMetrics", package: "swift-metrics"),
            ]),
        // The program of the server, with the commands of operators and nothing for developers.
        .executableTarget(name: "latchkey", dependencies: ["CommandLineSupport", "LatchkeyFeatures"]),

        // The service together with simulated carriers, for `latchkey-dev demo`.
        .target(
            name: "LatchkeyDemo",
            dependencies: [
                "CarrierSimulator", "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration", "LatchkeyFeatures",
                "LatchkeyService", "OpenIDConnect", "Primitives", "SignIn",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        // `latchkey-dev conformance`: what a configuration accepts and refuses of simulated providers.
        .target(
            name: "ConformanceKit",
            dependencies: [
                "CarrierSimulator", "HTTPServer", "LatchkeyConfiguration", "LatchkeyService", "OpenIDConnect",
                "Primitives", "SignIn",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        // The program of developers: all that has to do with simulated carriers.
        .executableTarget(
            name: "latchkey-dev",
            dependencies: [
                "CarrierSimulator", "CommandLineSupport", "ConformanceKit", "LatchkeyConfiguration", "LatchkeyDemo",
                "LatchkeyFeatures", "LatchkeyService", "Primitives",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),

        // For the tests. Apps depend on the package of that folder, which has nothing of the server.
        .target(
            name: "LatchkeyClient",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            path: "Clients/Swift/Sources/LatchkeyClient"),

        // Shared by the tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "CLatchkeySQLite", "CLatchkeySystem", "Primitives",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport"),
        .testTarget(name: "PrimitivesTests", dependencies: ["Primitives", "TestSupport"]),
        .testTarget(name: "EventLoopsTests", dependencies: ["EventLoops", "TestSupport"]),
        .testTarget(name: "HTTPCoreTests", dependencies: ["HTTPCore"]),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "CLatchkeyZlib", "EventLoops", "HTTPCore", "HTTPServer", "TestSupport", "Primitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "OpenIDConnectTests",
            dependencies: [
                "AccountMigration", "OpenIDConnect", "Primitives", "StorageModel", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "OutboundHTTPTests",
            dependencies: [
                "CLatchkeyZlib", "EventLoops", "OutboundHTTP", "OpenIDConnect", "Primitives", "TestSupport",
            ]),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "Administration", "Backchannel", "CLatchkeySQLite", "Capsules", "Examination", "OpenIDConnect",
                "PhoneVerification", "PostgreSQL", "Primitives", "ProviderLogout", "ProviderResources", "Registration",
                "SecurityEvents", "SignIn", "Storage", "StorageModel", "TestSupport", "Transactions",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "SignInTests",
            dependencies: [
                "OpenIDConnect", "Primitives", "SignIn", "Storage", "StorageModel", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "LatchkeyAPITests",
            dependencies: [
                "AccountMigration", "Administration", "Backchannel", "BoundTokens", "HTTPServer", "LatchkeyAPI",
                "LatchkeyConfiguration", "LatchkeyService", "Linking", "NativeSignIn", "Observability",
                "OpenIDConnect", "PhoneVerification", "PostgreSQL", "Primitives", "ProviderLogout",
                "ProviderResources", "Redirects", "Registration", "SecurityEvents", "Services", "SignIn", "StatusPage",
                "Storage", "StorageModel", "TestSupport", "Transactions", "Zephr",
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
            name: "AuditSealsTests",
            dependencies: [
                "AuditSeals", "PostgreSQL", "Primitives", "SignIn", "Storage", "StorageModel", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "BackchannelTests",
            dependencies: [
                "Backchannel", "OpenIDConnect", "Primitives", "SignIn", "StorageModel", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "CapsulesTests",
            dependencies: [
                "Capsules", "OpenIDConnect", "Primitives", "Redirects", "SignIn", "StorageModel", "TestSupport",
            ]),
        .testTarget(
            name: "PhoneVerificationTests",
            dependencies: [
                "LatchkeyConfiguration", "OpenIDConnect", "PhoneVerification", "Primitives", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "RedirectsTests",
            dependencies: [
                "HTTPServer", "OpenIDConnect", "Primitives", "Redirects", "SignIn", "StorageModel",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .testTarget(
            name: "StatisticsTests",
            dependencies: [
                "LatchkeyService", "OpenIDConnect", "PostgreSQL", "Primitives", "SignIn", "Statistics", "Storage",
                "StorageModel", "TestSupport",
            ]),
        .testTarget(
            name: "TelemetryExportTests",
            dependencies: [
                "Observability", "Primitives", "TelemetryExport", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "LatchkeyAPI", "LatchkeyConfiguration", "PostgreSQL", "Primitives", "Storage", "StorageModel",
                "TestSupport", "Webhooks", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "TransactionsTests", dependencies: ["OpenIDConnect", "Primitives", "SignIn", "Transactions"]),
        .testTarget(
            name: "LatchkeyMetricsTests",
            dependencies: [
                "HTTPServer", "LatchkeyConfiguration", "LatchkeyMetrics", "LatchkeyService", "Observability",
                "OpenIDConnect", "Primitives", "TestSupport",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]),
        .testTarget(
            name: "LatchkeyConfigurationTests",
            dependencies: [
                "AccountMigration", "Backchannel", "HTTPServer", "LatchkeyAPI", "LatchkeyConfiguration",
                "LatchkeyFeatures", "LatchkeyService", "OpenIDConnect", "PhoneVerification", "Presets", "Primitives",
                "Registration", "SecurityEvents", "SignIn", "TelemetryExport", "TestSupport", "Webhooks", "Zephr",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "LatchkeyTests",
            dependencies: [
                "Administration", "AuditSeals", "Backchannel", "Capsules", "CarrierSimulator", "CommandLineSupport",
                "ConformanceKit", "Examination", "HTTPServer", "LatchkeyAPI", "LatchkeyClient", "LatchkeyConfiguration",
                "LatchkeyDemo", "LatchkeyFeatures", "LatchkeyService", "Linking", "Observability", "OpenIDConnect",
                "OutboundHTTP", "PhoneVerification", "PostgreSQL", "Presets", "Primitives", "Redirects", "Registration",
                "SecurityEvents", "SignIn", "Storage", "StorageModel", "TelemetryExport", "TestSupport", "Transactions",
                "Webhooks", "Zephr", "latchkey", "latchkey-dev",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// C targets have no Swift settings.
for target in package.targets
where !target.name.hasPrefix("CLatchkey") {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .treatAllWarnings(as: .error),
    ]
}
