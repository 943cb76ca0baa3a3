import Backchannel
import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Linking
import NativeSignIn
import PhoneVerification
import Primitives
import ProviderLogout
import ProviderResources
import Redirects
import Registration
import SecurityEvents
import Services
import TestSupport
import Testing
import Transactions

@testable import StatusPage

/// Checks every response in these tests against the OpenAPI document.
enum PublishedAPI {
    static let document = document(of: [
        BackchannelFeature.self, LinkingFeature.self, NativeSignInFeature.self, PhoneVerificationFeature.self,
        ProviderLogoutFeature.self, ProviderResourcesFeature.self, RedirectsFeature.self, RegistrationFeature.self,
        SecurityEventsFeature.self, ServicesFeature.self, StatusRoutes.self, TransactionsFeature.self,
    ])

    static func document(of features: [any APIFeature.Type]) -> JSONValue {
        OpenAPIDocument(
            version: "1", sessionCookie: "__Host-latchkey_session", refreshCookie: "__Host-latchkey_refresh",
            path: "/base", features: features
        ).json
    }

    private static let contract = Result { try APIContract(document) }

    static func hold(_ response: Response, to method: HTTPRequest.Method, _ path: String) throws {
        let exchange = APIContract.Exchange(
            method.rawValue, path, status: response.status.code,
            fields: response.sentFields.map { ($0.name.rawName, $0.value) }, body: response.body)
        if let message = (try? JSONValue(parsing: response.body))?.object?["message"]?.string {
            UserMessageTests.check(message)
        }
        for fault in try contract.get().faults(of: exchange) { Issue.record("\(fault)") }
    }
}
