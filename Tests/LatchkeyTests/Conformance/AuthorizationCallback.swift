import Foundation
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
    /// Whether the browser posts it with a form.
    let isForm: Bool

    /// What a provider's page makes the browser send: a redirect's query, or the fields of a form.
    init(_ page: Browser.Page) {
        isForm = page.status == 200
        guard isForm else {
            callback = String(page.location.prefix { $0 != "?" })
            items = page.parameters.items.map { Item(name: $0.name, value: $0.value) }
            return
        }
        callback = Self.attribute("action", of: Self.elements("form", in: page.text).first ?? "") ?? ""
        items = Self.elements("input", in: page.text).compactMap { element in
            guard let name = Self.attribute("name", of: element), let value = Self.attribute("value", of: element)
            else { return nil }
            return Item(name: name, value: value)
        }
    }

    /// The start tags of an element.
    private static func elements(_ name: String, in page: String) -> [String] {
        page.components(separatedBy: "<\(name) ").dropFirst().map { String($0.prefix { $0 != ">" }) }
    }

    private static func attribute(_ name: String, of element: String) -> String? {
        let parts = " \(element)".components(separatedBy: " \(name)=\"")
        guard parts.count == 2 else { return nil }
        return String(parts[1].prefix { $0 != "\"" }).replacing("&quot;", with: "\"").replacing("&#39;", with: "'")
            .replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
    }

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
