package latchkey.client.tests

import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import latchkey.client.LatchkeyException
import latchkey.client.MobileOperator
import latchkey.client.NumberSignIn
import latchkey.client.Phone
import latchkey.client.PendingVerification
import latchkey.client.Tokens
import latchkey.client.finishVerification
import latchkey.client.linkNumber
import latchkey.client.nonce
import latchkey.client.phoneVerification
import latchkey.client.signInByNumber
import latchkey.client.signInNatively
import latchkey.client.signInWithFirebase
import latchkey.client.signInWithOperatorToken
import latchkey.client.startVerification
import latchkey.client.verifyPhoneNumber
import latchkey.client.verifyWithOperatorToken
import org.json.JSONObject

private const val APP_URI = "com.example.app:/callback"

/** ID tokens of the device, at Google's stand-in. */
fun native(server: String, google: String) {
    fun idToken(nonce: String) = ask("$google/native-tokens", "nonce=$nonce&user=jane").getString("id_token")
    val device = Device(::idToken, { it.openConnection() })
    val latchkey = client(server, MemoryTokenStore())
    device.google(latchkey)
    assertEqual(latchkey.me().getString("name"), "Jane Doe", "Google's user")
    val nonce = latchkey.nonce("google")
    val token = idToken(nonce)
    val other = latchkey.nonce("google")
    assertEqual(errorOf { latchkey.signInNatively("google", token, other) }, "invalid_id_token", "another nonce")
    assert(!latchkey.signInNatively("google", token, nonce), "the known user")
    assertEqual(errorOf { latchkey.signInNatively("google", token, nonce) }, "invalid_grant", "a used token")
    assertEqual(errorOf { latchkey.nonce("none") }, "not_found", "an unknown provider")
    latchkey.eraseAccount()
}

/** Sign-ins and verifications by number, at the simulated operators and Firebase. */
fun numbers(server: String, carriers: String) {
    fun operatorToken(user: String) =
        ask("$carriers/operators/northwind/operator-tokens", "user=$user").getString("operator_token")
    fun firebaseToken(number: String) = ask(
        "$carriers/firebase/tokens",
        "project_number=123456789012&project_id=shop-1&phone_number=%2B" + number.drop(1)).getString("token")
    fun cellular(device: String): (URL) -> HttpURLConnection = { url ->
        (url.openConnection() as HttpURLConnection).apply { setRequestProperty("Cookie", "simulated_device=$device") }
    }
    val ofJane = cellular("cellular:northwind:jane")
    val wifi = cellular("wifi")
    val down: (URL) -> HttpURLConnection = { throw IOException("no cellular network") }
    val no: (MobileOperator) -> String? = { null }
    val store = MemoryTokenStore()
    val latchkey = client(server, store)

    // By which way a phone is signed in, and with which number; or why it is not.
    val bySIM: (MobileOperator) -> String? = { if (it.name == "northwind") operatorToken("ravi") else null }
    val throws: (MobileOperator) -> String? = { throw IllegalStateException("dismissed") }
    val firebase = { firebaseToken("+12025550177") }
    for ((phone, expected) in listOf(
        Phone("310010", operatorToken = bySIM, cellular = ofJane) to "operator_token +12025550187",
        Phone("310010", operatorToken = no, cellular = ofJane) to "redirect +12025550123",
        Phone("310012", operatorToken = throws, cellular = ofJane) to "redirect +12025550123",
        Phone("310010", operatorToken = { "no-such-token" }, cellular = ofJane) to "redirect +12025550123",
        Phone("310010", operatorToken = no, firebaseToken = firebase, cellular = down) to "firebase_pnv +12025550177",
        Phone("99999", firebaseToken = firebase) to "firebase_pnv +12025550177",
        Phone("99999", operatorToken = bySIM, cellular = ofJane) to "phone_refused",
        Phone("310010") to "phone_refused", Phone("310010", cellular = wifi) to "not_on_mobile_network",
        Phone("310010", cellular = down) to "cellular_unavailable",
        Phone("310010", operatorToken = { "no-such-token-2" }) to "invalid_grant")) {
        val outcome = latchkey.signInByNumber(phone, APP_URI)
        val said = when (outcome) {
            is NumberSignIn.SignedIn -> outcome.method + " " + latchkey.me().getString("phone_number")
            is NumberSignIn.OtherWay -> outcome.reason.code
        }
        assertEqual(said, expected, "the phone")
        if (outcome is NumberSignIn.OtherWay) assert("acme" in outcome.providers, "providers ${outcome.providers}")
    }
    assertEqual(errorOf { latchkey.signInByNumber(Phone("310010", cellular = ofJane), "com.other.app:/x") },
                "invalid_request", "a foreign redirect URI")
    val device = Device({ "" }, ofJane)
    device.number(latchkey, APP_URI)
    assertEqual((device.shown.single() as JSONObject).getString("phone_number"), "+12025550123", "the document")

    // One way each.
    assertEqual(errorOf { latchkey.signInWithFirebase("x.y.z", "phone") }, "invalid_id_token", "Firebase")
    latchkey.signInWithOperatorToken(operatorToken("ravi"), MobileOperator("northwind"))
    val identity = latchkey.linkNumber(operatorToken("ravi"), MobileOperator(mccmnc = "310010"))
    assert(identity.getString("issuer").endsWith("/operators/northwind"), "identity $identity")

    // Verifications of the signed-in user.
    for ((phone, number, expected) in listOf(
        Triple(Phone("310010", operatorToken = { operatorToken("ravi") }), null, "verified"),
        Triple(Phone("310010", operatorToken = { operatorToken("ravi") }), "+12025550199", "mismatch"),
        Triple(Phone("310010", firebaseToken = { firebaseToken("+12025550187") }), "+12025550187", "verified"),
        Triple(Phone("310010", operatorToken = no, cellular = wifi), null, "failed"),
        Triple(Phone("310010", operatorToken = no, cellular = ofJane), "+12025550123", "verified"))) {
        val verification = latchkey.verifyPhoneNumber(phone, APP_URI, number)
        assertEqual(verification.getString("status"), expected, "the verification $verification")
        val again = latchkey.phoneVerification(verification.getString("verification_id"))
        assertEqual(again.getString("status"), expected, "the verification again")
    }
    for ((phone, expected) in listOf(
        Phone("310010") to "phone_refused", Phone("310010", cellular = down) to "cellular_unavailable")) {
        assertEqual(errorOf { latchkey.verifyPhoneNumber(phone, APP_URI) }, expected, "no outcome")
    }
    val byToken = latchkey.verifyWithOperatorToken(operatorToken("jane"), at = MobileOperator("northwind"))
    assertEqual(byToken.getString("status"), "verified", "by an operator token")

    // In a browser.
    val pending = latchkey.startVerification(APP_URI, "+12025550123", MobileOperator("northwind"))
    val ofThis = "$APP_URI?action=verify_phone&verification_id=${pending.id}"
    for ((url, code) in listOf(
        "$APP_URI?action=login&verification_id=${pending.id}&status=pending&confirmation=x" to "foreign_callback",
        "$ofThis&status=failure&error=not_found" to "not_found", "$ofThis&status=pending" to "foreign_callback",
        "com.other.app:/x?status=pending" to "foreign_callback",
        "$ofThis&status=pending&confirmation=GUESS" to "invalid_grant")) {
        assertEqual(errorOf { latchkey.finishVerification(pending, url) }, code, url)
    }
    val other = PendingVerification("other", pending.url, APP_URI)
    assertEqual(errorOf { latchkey.finishVerification(other, "$ofThis&status=pending&confirmation=x") },
                "foreign_callback", "another verification")
    latchkey.eraseAccount()
}

/** Digital credentials, at a scripted server: the phone's part is beyond a seam. */
fun digitalCredentials() = ScriptedServer().use { server ->
    val request = """{"protocol": "openid4vp-v1-unsigned", "data": {"nonce": "n", "dcql_query": {"credentials": []}}}"""
    val credential = """{"protocol":"openid4vp-v1-unsigned","data":{"vp_token":{"phone":"a~b"}}}"""
    val (start, methods) = "/auth/carriers/start" to "/auth/number/methods"
    val tokens = """{"token": "t", "refresh_token": "r", "expires": 3600, "new_user": true}"""
    fun script(path: String, status: Int, body: String) {
        server.responses[path] = ScriptedServer.Response(status, body)
    }
    fun offer(requires: String) = script(methods, 200, """{"methods": [{"method": "of_another_year", "provider": "x",
        "requires": "y"}, {"method": "digital_credential", "provider": "carriers", "requires": "$requires"},
        {"method": "redirect", "provider": "number", "operator": "northwind", "requires": "mobile_data"}],
        "fallback": ["google"]}""")
    val store = MemoryTokenStore()
    val latchkey = client(server.url, store)
    val asked = mutableListOf<String>()
    val gives: (String) -> String? = { credential.also { _ -> asked.add(it) } }
    val cellular: (URL) -> HttpURLConnection = { it.openConnection() as HttpURLConnection }

    offer("credential_manager")
    script(start, 201, """{"sign_in_id": "s/1", "request": $request, "expires_in": 300}""")
    script("$start/s%2F1/confirmation", 200, tokens)
    val outcome = latchkey.signInByNumber(Phone("310260", digitalCredential = gives), APP_URI)
    assert(outcome is NumberSignIn.SignedIn && outcome.method == "digital_credential" && outcome.isNewUser, "signed in")
    val passedOn = JSONObject(asked.single()).getJSONArray("requests")
    assertEqual(passedOn.length(), 1, "requests")
    assertEqual(passedOn.getJSONObject(0).toString(), JSONObject(request).toString(), "the request")
    val begun = JSONObject(server.bodies(start).single())
    assertEqual(begun.getString("method") + begun.getString("mccmnc"), "digital_credential310260", "the start")
    assertEqual(begun.length(), 2, "the start")
    assertEqual(server.bodies("$start/s%2F1/confirmation").single(), JSONObject(credential).toString(), "the end")

    // What the confirmation ends with, and whether the next way is tried; null if it is thrown.
    for ((code, goesOn) in listOf(
        "credential_invalid" to true, "invalid_grant" to true, "aggregator_error" to true, "operator_unknown" to true,
        "request_denied" to true, "invalid_id_token" to true,
        "user_already_exists" to false, "sim_swapped" to false, "access_denied" to false,
        "invalid_request" to null, "user_not_registered" to null, "rate_limited" to null)) {
        script("$start/s%2F1/confirmation", 401, """{"error": "$code"}""")
        script("/auth/number/start", 401, """{"error": "consent_required"}""")
        server.requests.clear()
        val phone = Phone("310260", digitalCredential = gives, cellular = cellular)
        if (goesOn == null) {
            assertEqual(errorOf { latchkey.signInByNumber(phone, APP_URI) }, code, "thrown")
        } else {
            val ended = latchkey.signInByNumber(phone, APP_URI) as NumberSignIn.OtherWay
            assertEqual(ended.reason.code, if (goesOn) "consent_required" else code, "after $code")
            assertEqual(ended.providers, listOf("google"), "providers")
        }
        assertEqual(server.bodies("/auth/number/start").size, if (goesOn == true) 1 else 0, "the next way after $code")
    }

    // A phone without Credential Manager begins nothing; what the user dismisses is not sent.
    for ((asks, starts) in listOf<Pair<((String) -> String?)?, Int>>(
        null to 0, { _: String -> throw IllegalStateException("dismissed") } to 1, { _: String -> null } to 1)) {
        server.requests.clear()
        val ended = latchkey.signInByNumber(Phone("310260", digitalCredential = asks), APP_URI)
        assertEqual((ended as NumberSignIn.OtherWay).reason.code, "phone_refused", "dismissed")
        assertEqual(server.bodies(start).size, starts, "starts")
        assert(server.bodies("$start/s%2F1/confirmation").isEmpty(), "a credential was sent")
    }

    // A server that cannot tell the ways leaves the other providers.
    for ((code, isOtherWay) in listOf("carrier_error" to true, "rate_limited" to false)) {
        script(methods, 502, """{"error": "$code"}""")
        val ended = try { latchkey.signInByNumber(Phone(), APP_URI) } catch (error: LatchkeyException) { null }
        assertEqual((ended as NumberSignIn.OtherWay?)?.reason?.code, if (isOtherWay) code else null, "the list")
    }
    offer("credential_manager")

    // A verification.
    val path = "/users/me/phone/verifications"
    store.tokens = Tokens("t", "r", System.currentTimeMillis() + 3_600_000)
    script(path, 201, """{"verification_id": "v", "status": "pending", "request": $request}""")
    script("$path/v/confirmation", 200, """{"verification_id": "v", "status": "mismatch"}""")
    val verification = latchkey.verifyPhoneNumber(Phone("310260", digitalCredential = gives), APP_URI, "+12025550123")
    assertEqual(verification.getString("status"), "mismatch", "the verification")
    assertEqual(server.bodies("$path/v/confirmation").single(), JSONObject(credential).toString(), "the credential")

    // A link over the cellular network.
    offer("mobile_data")
    script(start, 201, """{"sign_in_id": "s", "authorization_url": "${server.url}/link?x"}""")
    script("$start/s/confirmation", 200, tokens)
    for ((location, says) in listOf(
        "$APP_URI?code=c%2F1&state=s" to "digital_credential",
        "$APP_URI?error=login_required" to "consent_required", "/other" to "consent_required")) {
        server.requests.clear()
        server.responses["/link"] = ScriptedServer.Response(302, "", "Location" to location)
        val ended = latchkey.signInByNumber(Phone("310260", cellular = cellular), APP_URI)
        val said = when (ended) {
            is NumberSignIn.SignedIn -> ended.method
            is NumberSignIn.OtherWay -> ended.reason.code
        }
        assertEqual(said, says, location)
        assertEqual(JSONObject(server.bodies(start).single()).getString("redirect_uri"), APP_URI, "the start")
    }
}
