import Logging
package import OpenIDConnect
package import Primitives

package struct RedirectStart: Sendable {
    package var provider: ProviderReference
    /// The app; nil if the provider has one client only.
    package var clientID: ClientID?
    package var clientType: ClientType
    /// Where the sign-in ends: one of the client's registered redirect URIs.
    package var redirectURI: String
    /// This server's own redirect URI, registered with the provider.
    package var callbackURL: String
    /// The network; nil to let the user choose the carrier.
    package var network: MCCMNC?
    /// The name of a server, for a group.
    package var operatorName: String?
    /// A number by which a group finds the server. It is neither stored nor sent to the server.
    package var phoneNumber: MSISDN?
    /// What to ask of the provider. Without scopes, the client's.
    package var demand = AuthenticationDemand()
    /// Further parameters for the provider, of those that apps may send. They are not stored.
    package var parameters: [String: String] = [:]
    /// The S256 challenge of the verifier that the app will present for its session. The provider gets another one.
    package var codeChallenge: String?
    /// Returned unchanged with a success; the correlation id, if nil.
    package var trackingID: String?
    /// Whether the frontend uses the `session_id` of the outcome as its session, as those made for Zephr do.
    package var sessionIDIsSession = false
    package var correlationID: CorrelationID?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    package var sentNames: [String: String] = [:]
    /// Who begins: a browser without an API key, or an app.
    package var caller = CallerTerms()
    package var purpose = Purpose.signIn

    package enum Purpose: Sendable, Hashable {
        case signIn
        /// For a feature's errand of the session of this id, which alone can end it.
        case errand(session: String)
        /// For a task of the provider's group.
        case task(id: Secret)
    }

    package init(
        provider: ProviderReference, clientType: ClientType, redirectURI: String, callbackURL: String
    ) {
        self.provider = provider
        self.clientType = clientType
        self.redirectURI = redirectURI
        self.callbackURL = callbackURL
    }
}

extension Environment {
    /// Logs that a redirect URI is not registered: no frontend is told, and no sign-in has begun that would have a
    /// line. Anyone can send such a start.
    package func logStart(_ error: SignInError, at provider: String?, _ correlationID: CorrelationID) {
        guard error.field == "redirect_uri", let cause = error.cause else { return }
        refusals.log(
            error, "start refused", at: provider, ["correlation_id": "\(correlationID)", "cause": "\(cause)"],
            to: logger)
    }
}

/// The kind of frontend of a redirect sign-in, which decides how it gets the session.
package enum ClientType: String, Sendable, CaseIterable {
    /// A page in the same browser: the session travels in a cookie.
    case web
    case ios
    case android
    /// A separate window, which posts the outcome to the page that opened it.
    case popup
    /// A page of another origin in the same browser, which cannot use this server's cookies. Like an app, it gets a
    /// `session_id`, good only with its code verifier.
    case spa

    /// Whether the browser that starts must be the one that comes back.
    package var isBoundToBrowser: Bool { self == .web || self == .popup || self == .spa }
}

/// The redirect URI of an app or a web frontend, where a sign-in ends.
package enum AppRedirectURI {
    /// Whether a redirect URI is a registered one, byte for byte (RFC 9700 section 2.1). The port of an http URI on a
    /// loopback address may differ (RFC 8252 section 7.3).
    static func isRegistered(_ uri: String, among registered: [String]) -> Bool {
        let loopback = Loopback(uri)
        return registered.contains { $0.hasSameBytes(as: uri) || (loopback != nil && Loopback($0) == loopback) }
    }

    /// The registered URI that has the most in common with one that is not registered, at its beginning and its end;
    /// nil if there is none.
    static func nearest(to uri: String, among registered: [String]) -> String? {
        registered.max { common(uri, $0) < common(uri, $1) }
    }

    private static func common(_ left: String, _ right: String) -> Int {
        let beginning = zip(left.utf8, right.utf8).prefix { $0 == $1 }.count
        let ends = (left.utf8.dropFirst(beginning).reversed(), right.utf8.dropFirst(beginning).reversed())
        return beginning + zip(ends.0, ends.1).prefix { $0 == $1 }.count
    }

    /// As logs show what a caller has sent: one line of limited length, without a query, which may have anything.
    static func shown(_ uri: String) -> String {
        let path = uri.prefix { $0 != "?" && $0 != "#" }
        return DisplayText.line(String(path)) + (path.endIndex == uri.endIndex ? "" : "?…")
    }

    package static func appending(_ items: [(name: String, value: String)], to uri: String) -> String {
        let separator = uri.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return uri + separator + String(decoding: PercentEncoding.form(items), as: UTF8.self)
    }

    /// Scheme, host and port of an http or https URI, as browsers write an origin; nil for any other URI.
    package static func origin(of uri: String) -> String? {
        for scheme in ["https://", "http://"] where uri.hasPrefix(scheme) {
            let authority = uri.dropFirst(scheme.utf8.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            guard !authority.isEmpty, !authority.contains("@") else { return nil }
            let standardPort = scheme == "https://" ? ":443" : ":80"
            let host = authority.hasSuffix(standardPort) ? authority.dropLast(standardPort.count) : authority
            return scheme + host.lowercased()
        }
        return nil
    }

    /// The kinds of frontend that a redirect URI is for unless the administrator says otherwise: apps for a scheme of
    /// their own (RFC 8252 section 7.1), pages for https, and both for http on a loopback address (RFC 8252 section
    /// 7.3). `spa` is never among them: a link could choose it for a page that uses `web`.
    static func usualClientTypes(at uri: String) -> Set<ClientType> {
        guard origin(of: uri) != nil else { return [.ios, .android] }
        return Loopback(uri) == nil ? [.web, .popup] : [.web, .popup, .ios, .android]
    }

    /// A loopback URI without its port.
    private struct Loopback: Equatable {
        let host: String
        let rest: String

        init?(_ uri: String) {
            let scheme = "http://"
            guard uri.hasPrefix(scheme) else { return nil }
            let afterScheme = uri.dropFirst(scheme.utf8.count)
            guard let host = ["127.0.0.1", "[::1]", "localhost"].first(where: afterScheme.hasPrefix) else { return nil }
            var rest = afterScheme.dropFirst(host.count)
            if rest.first == ":" {
                let port = rest.dropFirst().prefix { $0 != "/" && $0 != "?" }
                guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
                rest = rest.dropFirst(1 + port.count)
            }
            guard rest.isEmpty || rest.first == "/" || rest.first == "?" else { return nil }
            self.host = host
            self.rest = String(rest)
        }
    }
}

extension SignInConfiguration.Client {

    /// Whether a browser may be sent to a redirect URI after a sign-in or a sign-out: only to a registered one, because
    /// this server must not be an open redirector.
    package func mayReceiveBrowsers(at redirectURI: String) -> Bool {
        AppRedirectURI.isRegistered(redirectURI, among: rules.redirectURIs)
    }

    /// Whether a registered redirect URI is for a kind of frontend. Otherwise a link could choose how a page gets its
    /// session: in the address, where others may read it, instead of a cookie.
    package func allows(_ clientType: ClientType, at redirectURI: String) -> Bool {
        let registered = rules.redirectURIs.first { AppRedirectURI.isRegistered(redirectURI, among: [$0]) }
        let configured = registered.flatMap { rules.clientTypes[$0] }
        return (configured ?? AppRedirectURI.usualClientTypes(at: redirectURI)).contains(clientType)
    }
}
