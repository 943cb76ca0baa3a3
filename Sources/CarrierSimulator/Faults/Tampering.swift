package import HTTPServer

extension CarrierSimulator {
    /// What tests make of a carrier's messages where no ``Fault`` has a name for it: edits, made in their order after
    /// those of the faults.
    package struct Tampering: Sendable {
        package typealias Edit<Value> = @Sendable (inout Value) -> Void

        /// Of the ID token before it is signed.
        package var idTokens: [Edit<IDTokenDraft>] = []
        /// Of its compact form.
        package var compactForms: [Edit<String>] = []
        /// Of the object that an endpoint answers with, where it answers with what it should: metadata, key set, tokens
        /// or claims.
        package var objects: [RequestLog.Endpoint: [Edit<JSONMembers>]] = [:]
        /// Of an endpoint's answer, whatever it is.
        package var answers: [RequestLog.Endpoint: [Edit<Response>]] = [:]

        package init() {}
    }
}
