import HTTPServer
import Primitives
import SignIn

/// All routes and their handlers. The wrapper around a handler is its access rule (`LatchkeyAPI+Admission.swift`); a
/// route without one is open, or authenticates callers itself.
extension LatchkeyAPI {
    func makeRouter() -> Router {
        var router = Router()
        if let files { router.files = { try await files.respond(to: $0) } }
        addSignInRoutes(to: &router)
        addAccountRoutes(to: &router)
        addSessionRoutes(to: &router)
        addOperationRoutes(to: &router)
        for feature in features { feature.addRoutes(to: &router, of: self) }
        return router
    }

    private func addSignInRoutes(to router: inout Router) {
        router.post(
            "/auth/zenkey-signin", admitting(.entering, immediate: { try $0.signIn($1, $2, provider: "zenkey") }))
        router.post(
            "/auth/{provider}/sign-in",
            admitting(.enteringOrPage, immediate: { try $0.signIn($1, $2, provider: $1.provider) }))
        router.post("/auth/{provider}/attempts", admitting(.entering) { try await $0.issueNonce($1, $2) })
    }

    private func addAccountRoutes(to router: inout Router) {
        router.get("/users/me", signedIn(immediate: { api, _, caller in .value(api.showUser(caller)) }))
        router.patch("/users/me", changing { try await $0.editUser($1, $2) })
        router.delete("/users/me", changing { try await $0.eraseUser($1, $2) })
    }

    private func addSessionRoutes(to router: inout Router) {
        router.post("/auth/token", admitting(.enteringOrPage) { try await $0.refresh($1, $2) })
        router.delete(
            "/auth/token", signedIn(orPage: { try await $0.signOutPage($1) }) { try await $0.signOut($1, $2) })
        router.get("/users/me/sessions", signedIn { api, _, caller in try await api.listSessions(caller) })
        // Not limited as changes: the thief of a session could use up the quota, and could then not be thrown out.
        router.delete("/users/me/sessions", signedIn { try await $0.revokeOtherSessions($1, $2) })
        router.delete("/users/me/sessions/{id}", signedIn { try await $0.revokeSession($1, $2) })
    }

    private func addOperationRoutes(to router: inout Router) {
        router.get("/.well-known/jwks.json") { try await self.showSigningKeys($0) }
        router.get("/openapi.json") { self.showDocument($0) }
        router.get("/metrics") { try await self.showMetrics($0) }
        router.get("/healthz") { _ in Self.status("ok") }
        router.get("/readyz") { _ in try await self.readiness() }
    }
}
