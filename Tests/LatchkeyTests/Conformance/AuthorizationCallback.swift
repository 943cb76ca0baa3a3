import HTTPServer
import TestSupport

/// The redirect with which a carrier returns the browser.
struct AuthorizationCallback: Sendable {
    struct Item: Sendable {
        var name: String
        var value: String
    }

    /// The redirect URI without a query.
    let callback: String
    /// The authorization response.
    var items: [Item]

    var query: String { items.map { App.form([$0.name: $0.value]) }.joined(separator: "&") }

    subscript(name: String) -> String? {
        get { items.first { $0.name == name }?.value }
        set {
            items.removeAll { $0.name == name }
            if let newValue { items.append(Item(name: name, value: newValue)) }
        }
    }

    /// The verdict of a callback's response; nil if it is no such response.
    static func verdict(of answer: App.Answer) -> ConformanceCase.Verdict? {
        let hasSession = answer.response.fields.contains {
            $0.name == "set-cookie" && $0.value.contains("latchkey_session=") && !$0.value.contains("Max-Age=0")
        }
        if answer.status == 400, answer.response["content-type"] == "text/html; charset=utf-8" {
            return hasSession ? .unexpected : .callback
        }
        guard answer.status == 303 else { return nil }
        let told = Browser.query(of: answer.response["location"] ?? "")
        switch (told["status"], told["error"]) {
        case ("success", nil) where hasSession: return .signedIn
        case _ where hasSession: return .unexpected
        case ("failure", "invalid_id_token"), ("failure", "invalid_grant"): return .rejected
        case ("failure", _?): return .callback
        default: return .unexpected
        }
    }
}
