import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// The column `content`: what is only stored and read back.
extension BackchannelAuthenticationRecord {
    var content: String {
        var json = JSONObjectWriter(capacity: 1024)
        json.add("client_id", terms.clientID.text)
        json.add("scope", terms.demand.scopes)
        json.add("acr_values", terms.demand.acrValues)
        json.add("context", ifPresent: terms.demand.context)
        json.add("prompt", terms.demand.prompt.map(\.rawValue))
        json.add("correlation_id", terms.correlationID.text)
        if let carrier = terms.carrier { json.add("carrier", object: carrier.write) }
        json.add("attempt", attempt)
        json.add("carrier_request", ifPresent: carrierRequest.map { Base64URL.encode($0.bytes) })
        json.add("failure", ifPresent: failure?.text)
        if let user { json.add("user", object: user.write) }
        if let polling { json.add("polling", object: polling.write) }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    /// A record of a row; nil for a content that ``content`` did not make.
    init?(_ row: borrowing CachedStatement) throws {
        guard let phase = Phase(rawValue: try row.text(4)),
            let json = (try? JSONValue(parsing: Array(try row.text(9).utf8)))?.object,
            let clientID = json["client_id"]?.string.flatMap(ClientID.init), let scopes = json["scope"]?.strings,
            let acrValues = json["acr_values"]?.strings, let prompt = json["prompt"]?.strings,
            let correlationID = json["correlation_id"]?.string.flatMap(CorrelationID.init),
            let attempt = json["attempt"]?.integer
        else { return nil }
        var demand = AuthenticationDemand()
        demand.scopes = scopes
        demand.acrValues = acrValues
        demand.context = json["context"]?.string
        demand.prompt = prompt.compactMap(Prompt.init)
        let network = try row.text(3)
        let carrier = json["carrier"]?.object.flatMap { Terms.CarrierRequest($0, at: network) }
        let user = json["user"]?.object.flatMap(VouchedUser.init)
        let polling = json["polling"]?.object.flatMap(TokenPolling.init)
        guard (carrier == nil) == (json["carrier"] == nil), (user == nil) == (json["user"] == nil),
            (polling == nil) == (json["polling"] == nil)
        else { return nil }
        self.init(
            handle: try row.hash(0), caller: try row.hash(1),
            terms: Terms(
                provider: try row.text(2), clientID: clientID, demand: demand, carrier: carrier,
                correlationID: correlationID),
            phase: phase, attempt: attempt, notification: try row.hash(5),
            carrierRequest: json["carrier_request"]?.hash,
            failure: json["failure"]?.string.map(BackchannelAuthenticationFailure.init), user: user, polling: polling,
            expiresAt: row.time(6), removedAt: row.time(7), revision: row.number(8))
    }
}

extension BackchannelAuthenticationRecord.Terms.CarrierRequest {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("login_hint", loginHint.text.exposed)
        json.add("redirect_uri", redirectURI)
        json.add("options", ifPresent: options)
    }

    fileprivate init?(_ json: JSONObject, at network: String) {
        guard let network = MCCMNC(network), let redirectURI = json["redirect_uri"]?.string,
            let loginHint = json["login_hint"]?.string.flatMap({ LoginHint($0, at: network) })
        else { return nil }
        self.init(
            loginHint: loginHint, network: network, redirectURI: redirectURI, options: json["options"]?.string)
    }
}

extension BackchannelAuthenticationRecord.VouchedUser {
    fileprivate func write(to json: inout JSONObjectWriter) {
        identity.write(to: &json)
        json.add(
            "profile",
            object: { json in
                for attribute in profile.present { json.add(named: attribute.rawValue, profile[attribute] ?? "") }
            })
        for attribute in verified.present {
            json.add(named: attribute.rawValue + "_verified", json: verified[attribute] == true ? "true" : "false")
        }
        json.add("claims", ifPresent: claims)
        json.add("ported_from", objects: portedFrom) { ported, json in
            ported.identity.write(to: &json)
            json.add("issued_at", ported.issuedAt.secondsSinceEpoch)
            json.add("token", Base64URL.encode(ported.token.bytes))
        }
    }

    fileprivate init?(_ json: JSONObject) {
        guard let identity = Identity(json), let profile = json["profile"]?.object,
            let ported = json["ported_from"]?.array
        else { return nil }
        self.init(
            identity: identity, claims: json["claims"]?.string,
            portedFrom: ported.compactMap { $0.object.flatMap(PortedIdentity.init) })
        for attribute in UserAttribute.allCases { self.profile[attribute] = profile[attribute.rawValue]?.string }
        for attribute in UserAttribute.verifiable {
            verified[attribute] = json[attribute.rawValue + "_verified"]?.bool
        }
        guard portedFrom.count == ported.count else { return nil }
    }
}

extension Identity {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("issuer", issuer)
        json.add("subject", subject)
    }

    fileprivate init?(_ json: JSONObject) {
        guard let issuer = json["issuer"]?.string, let subject = json["subject"]?.string else { return nil }
        self.init(issuer: issuer, subject: subject)
    }
}

extension PortedIdentity {
    fileprivate init?(_ json: JSONObject) {
        guard let identity = Identity(json), let issuedAt = json["issued_at"]?.integer, let token = json["token"]?.hash
        else { return nil }
        self.init(identity: identity, issuedAt: Timestamp(secondsSinceEpoch: issuedAt), token: token)
    }
}

extension TokenPolling {
    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("mode", mode.rawValue)
        json.add("request", ifPresent: sealedRequest.map { Base64URL.encode($0) })
        json.add("interval", interval)
        json.add("next_at", nextAt.secondsSinceEpoch)
        if let busyUntil { json.add("busy_until", busyUntil.secondsSinceEpoch) }
        json.add("is_notified", isNotified)
    }

    fileprivate init?(_ json: JSONObject) {
        guard let mode = json["mode"]?.string.flatMap(BackchannelTokenDeliveryMode.init),
            let interval = json["interval"]?.integer, let nextAt = json["next_at"]?.integer,
            let isNotified = json["is_notified"]?.bool
        else { return nil }
        self.init(mode: mode, interval: interval, nextAt: Timestamp(secondsSinceEpoch: nextAt))
        sealedRequest = json["request"]?.string.flatMap { Base64URL.decode($0) }
        busyUntil = json["busy_until"]?.integer.map(Timestamp.init(secondsSinceEpoch:))
        self.isNotified = isNotified
    }
}

extension JSONValue {
    fileprivate var strings: [String]? { array?.compactMap(\.string) }

    fileprivate var hash: TokenHash? { string.flatMap { Base64URL.decode($0) }.flatMap { TokenHash($0) } }
}
