package import HTTPServer
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
package import SignIn

/// The status page of the service. It has no settings: it is there unless the build leaves it out.
package struct StatusPageFeature: Feature {
    private let source: StatusSource
    private let routes: StatusRoutes

    package init(_ settings: NoSettings, in context: FeatureContext) {
        let source = StatusSource(ProviderNames(context.configuration), clock: context.clock)
        self.source = source
        routes = StatusRoutes(
            status: { try await source.status() }, capsule: { try await source.capsule(ofFailure: $0) })
    }

    package static var operations: [APIOperation] { StatusRoutes.operations }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) { routes.addRoutes(to: &router, of: api) }

    package var signInObserver: SignInObserver? { { [board = source.board] report in board.note(report) } }

    package func attach(to service: LatchkeyService) { source.attach(to: service) }

    package func start() { source.start() }

    package func shutdown() async { source.stop() }
}
