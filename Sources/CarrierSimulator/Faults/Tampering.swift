package import HTTPServer

extension CarrierSimulator {
    /// Edits of a carrier's messages for which there is no ``Fault``. They apply in order, after the faults.
    package struct Tampering: Sendable {
        package typealias Edit<Value> = @Sendable (inout Value) -> Void

        /// Edits of the ID token before it is signed.
        package var idTokens: [Edit<TokenDraft>] = []
        /// Edits of the ID token's compact form.
        package var compactForms: [Edit<String>] = []
        /// Edits of the object of a successful response: metadata, key set, tokens or claims.
        package var objects: [RequestLog.Endpoint: [Edit<JSONMembers>]] = [:]
        /// Edits of the metadata that the discovery service has of the carrier. The carrier's own stays as it is.
        package var brokerMetadata: [Edit<JSONMembers>] = []
        /// Edits of any response of an endpoint.
        package var responses: [RequestLog.Endpoint: [Edit<Response>]] = [:]

        package init() {}
    }
}
