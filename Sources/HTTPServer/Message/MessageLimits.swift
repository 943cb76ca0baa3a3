/// The limits of ``ServerLimits`` that a connection applies to its messages. A value without references, because each
/// request copies it.
struct MessageLimits {
    let requestLineBytes: Int
    let headerBytes: Int
    let headerFields: Int
    let bodyBytes: Int
    let requestsPerConnection: Int

    init(_ limits: ServerLimits) {
        requestLineBytes = limits.requestLineBytes
        headerBytes = limits.headerBytes
        headerFields = limits.headerFields
        bodyBytes = limits.bodyBytes
        requestsPerConnection = limits.requestsPerConnection
    }
}
