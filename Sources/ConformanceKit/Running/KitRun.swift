import CarrierSimulator
import HTTPServer
import LatchkeyService
import Primitives

/// What the server did in a case.
package struct KitObservation: Sendable, Hashable {
    /// Whether the user was signed in, or may register.
    package let isAccepted: Bool
    /// The status of the last response.
    package let status: Int
    package let error: String?
    package let description: String?

    /// - Parameter issuer: For a start, which is accepted if it sends the browser to this provider; otherwise nil.
    init(_ answer: KitBrowser.Answer, startAt issuer: String? = nil) {
        let told = answer.parameters
        status = answer.status
        error = answer["error"] ?? told["error"]
        description = answer["error_description"] ?? told["error_description"]
        if let issuer {
            isAccepted = answer.status == 303 && answer.location.hasPrefix(issuer)
            return
        }
        let isBack = answer.status == 303 && told["status"] == "success"
        isAccepted = answer.status == 200 && answer.body?["token"] != nil || isBack
    }
}

struct KitRun: Sendable {
    let row: KitCase
    let browser: KitBrowser

    func observe() async throws -> KitObservation {
        guard row.flow == .code, !browser.target.settings.dependsOnState else { return try await withRedirects() }
        return KitObservation(try await withCode())
    }

    private func withCode() async throws -> KitBrowser.Answer {
        let nonce = try await browser.nonce()
        var fields = try browser.approved(nonce: nonce, acr: row.acr)
        switch row.twist {
        case .withoutVerifier: fields.removeAll { $0.name == "code_verifier" }
        case .otherVerifier: fields.replace("code_verifier", with: RandomSource.system.token())
        case .withoutNonce: fields.removeAll { $0.name == "nonce" }
        // The provider knows the redirect URI, and this server does not.
        case .unregisteredRedirectURI:
            fields = try browser.approved(nonce: nonce, acr: row.acr, at: KitTarget.unknownURI)
        case .repeatedNonce:
            _ = try await browser.signIn(fields)
            fields = try browser.approved(nonce: nonce, acr: row.acr)
        case .usedCode:
            _ = try await browser.signIn(fields)
            // Another sign-in, and not a retry of the first.
            fields.append(("state", "another"))
        default: break
        }
        return try await browser.signIn(fields)
    }

    private func withRedirects() async throws -> KitObservation {
        let issuer = browser.simulator.baseURL ?? ""
        switch row.twist {
        case .startAtUnregisteredURI:
            return KitObservation(try await browser.start(at: KitTarget.unknownURI), startAt: issuer)
        case .startWithoutChallenge:
            return KitObservation(try await browser.start("ios", at: KitTarget.appURI), startAt: issuer)
        default: break
        }
        let started = try await browser.start(acr: row.acr)
        guard started.location.hasPrefix(issuer) else { return KitObservation(started) }
        var items = try await browser.approve(started)
        switch row.twist {
        case .otherBrowser: return KitObservation(try await browser.comeBack(items, cookies: []))
        case .repeatedResponse:
            _ = try await browser.comeBack(items, cookies: started.cookies)
            // The same browser would get the same end again.
            return KitObservation(try await browser.comeBack(items, cookies: []))
        case .codeOfAnother:
            let other = try await browser.approve(try await browser.start())
            // In a signed response the code cannot be exchanged alone.
            for name in ["code", "response"] {
                guard let value = other.first(where: { $0.name == name })?.value else { continue }
                items.replace(name, with: value)
            }
        default: break
        }
        return KitObservation(try await browser.comeBack(items, cookies: started.cookies))
    }
}

extension [(name: String, value: String)] {
    fileprivate mutating func replace(_ name: String, with value: String) {
        for index in indices where self[index].name == name { self[index].value = value }
    }
}

/// Why a configuration cannot be examined. One line for the administrator.
package struct KitError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Reason: Sendable, Hashable {
        /// The command line names something that does not exist or cannot be examined.
        case usage
        /// The machine has no port, folder or memory for the run, or a correct sign-in fails.
        case failed
    }

    package let reason: Reason
    package let description: String

    init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}
