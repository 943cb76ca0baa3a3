import LatchkeyAPI
import LatchkeyFeatures
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// Checks every response of Latchkey in these tests against the OpenAPI document.
enum PublishedAPI {
    private static let made = Result {
        try APIContract(
            OpenAPIDocument(
                version: "1", sessionCookie: "latchkey_session", refreshCookie: "latchkey_refresh", path: "",
                features: FeatureList.standard.features
            ).json)
    }

    static func contract() throws -> APIContract { try made.get() }

    static func hold(_ response: RawClient.Response, to method: String, _ target: String) throws {
        // Zephr's own documents describe Zephr's paths, and those of the demonstration are no part of the API.
        guard !["/zephr/", "/blaize/", "/demo/"].contains(where: target.hasPrefix) else { return }
        let exchange = APIContract.Exchange(
            method, target, status: response.status, fields: response.fields.map { ($0.name, $0.value) },
            body: response.body)
        for fault in try contract().faults(of: exchange) { Issue.record("\(fault)") }
        Tour.current?.note(exchange)
    }
}
