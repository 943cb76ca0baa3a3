package latchkey.client.tests

import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import latchkey.client.Latchkey
import latchkey.client.LatchkeyException
import latchkey.client.MobileOperator
import latchkey.client.NumberSignIn
import latchkey.client.Phone
import latchkey.client.PendingVerification
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
fun native(server: String, simulator: String) {
    val google = Simulator(simulator)
    val latchkey = client(server, MemoryTokenStore())
    Device(googleIDToken = google::googleIDToken).google(latchkey)
    assertEqual(latchkey.me().getString("name"), "Jane Doe", "Google's user")
    val nonce = latchkey.nonce("google")
    val token = google.googleIDToken(nonce)
    val other = latchkey.nonce("google")
    assertEqual(errorOf { latchkey.signInNatively("google", token, other) }, "invalid_id_token", "another nonce")
    assert(!latchkey.signInNatively("google", token, nonce), "the known user")
    assertEqual(errorOf { latchkey.signInNatively("google", token, nonce) }, "invalid_grant", "a used token")
    assertEqual(errorOf { latchkey.nonce("none") }, "not_found", "an unknown provider")
    latchkey.eraseAccount()
}

/** By which way a phone is signed in, and with which number; or why it is not. */
private fun Latchkey.way(phone: Phone): String = when (val outcome = signInByNumber(phone, APP_URI)) {
    is NumberSignIn.SignedIn -> outcome.method + " " + me().getString("phone_number")
    is NumberSignIn.OtherWay ->
        outcome.reason.code.also { assert("acme" in outcome.providers, "providers ${outcome.providers}") }
}

/** Digital credentials and links of the simulated aggregator. */
fun digitalCredentials(server: String, simulator: String) {
    val phones = Simulator(simulator)
    val latchkey = client(server, MemoryTokenStore())
    val (ofJane, ofOtto) = listOf("northwind:jane", "harbor:otto").map { phones.network("cellular:$it") }
    val (number, other) = "+12025550190" to "+12025550191"
    val wallet = phones.wallet(number)
    val credentials = mutableListOf<String>()
    val keeps: (String) -> String? = { json -> wallet(json).also { credentials.add(it) } }
    val throws: (String) -> String? = { throw IllegalStateException("dismissed") }

    // A refused credential leads to the mobile network, in the same call.
    for ((phone, expected) in listOf(
        Phone("310260", digitalCredential = keeps) to "digital_credential $number",
        Phone("310010", digitalCredential = wallet, cellular = ofJane) to "digital_credential $number",
        Phone("310010", digitalCredential = { credentials.single() }, cellular = ofJane) to "redirect +12025550123",
        Phone("310010", digitalCredential = phones.wallet(number, "https://evil.example"), cellular = ofJane)
            to "redirect +12025550123",
        Phone("310010", digitalCredential = throws, cellular = ofJane) to "redirect +12025550123",
        Phone("310010", digitalCredential = { null }, cellular = ofJane) to "redirect +12025550123",
        Phone("310260", digitalCredential = { credentials.single() }) to "credential_invalid",
        Phone("311480", digitalCredential = wallet, cellular = ofOtto) to "digital_credential +12025550169",
        Phone("311480", cellular = phones.network("wifi")) to "authorization_stopped",
        Phone("311480", digitalCredential = wallet) to "phone_refused")) {
        assertEqual(latchkey.way(phone), expected, "the phone")
        if (" " in expected) latchkey.eraseAccount()
    }

    // Verifications of the signed-in user.
    val device = Device(credential = wallet)
    device.number(latchkey, APP_URI)
    assertEqual((device.shown.single() as JSONObject).getString("phone_number"), number, "the document")
    for ((phone, asked, expected) in listOf(
        Triple(Phone("310260", digitalCredential = wallet), number, "verified"),
        Triple(Phone("310260", digitalCredential = wallet), other, "mismatch"),
        Triple(Phone("311480", cellular = ofOtto), number, "mismatch"))) {
        val verification = latchkey.verifyPhoneNumber(phone, APP_URI, asked)
        assertEqual(verification.getString("status"), expected, "the verification $verification")
        assertEqual(verification.getString("operator"), "carriers", "the verification $verification")
    }
    latchkey.eraseAccount()
}

/** Sign-ins and verifications by number, at the simulated operators and Firebase. */
fun numbers(server: String, simulator: String) {
    val phones = Simulator(simulator)
    val ofJane = phones.network("cellular:northwind:jane")
    val wifi = phones.network("wifi")
    val down: (URL) -> HttpURLConnection = { throw IOException("no cellular network") }
    val no: (MobileOperator) -> String? = { null }
    val store = MemoryTokenStore()
    val latchkey = client(server, store)

    val bySIM: (MobileOperator) -> String? = { if (it.name == "northwind") phones.operatorToken("ravi") else null }
    val throws: (MobileOperator) -> String? = { throw IllegalStateException("dismissed") }
    val firebase = { phones.firebaseToken("+12025550177") }
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
        assertEqual(latchkey.way(phone), expected, "the phone")
    }
    assertEqual(errorOf { latchkey.signInByNumber(Phone("310010", cellular = ofJane), "com.other.app:/x") },
                "invalid_request", "a foreign redirect URI")

    // One way each.
    assertEqual(errorOf { latchkey.signInWithFirebase("x.y.z", "firebase") }, "invalid_id_token", "Firebase")
    latchkey.signInWithOperatorToken(phones.operatorToken("ravi"), MobileOperator("northwind"))
    val identity = latchkey.linkNumber(phones.operatorToken("ravi"), MobileOperator(mccmnc = "310010"))
    assert(identity.getString("issuer").endsWith("/operators/northwind"), "identity $identity")

    // Verifications of the signed-in user.
    for ((phone, number, expected) in listOf(
        Triple(Phone("310010", operatorToken = { phones.operatorToken("ravi") }), null, "verified"),
        Triple(Phone("310010", operatorToken = { phones.operatorToken("ravi") }), "+12025550199", "mismatch"),
        Triple(Phone("310010", firebaseToken = { phones.firebaseToken("+12025550187") }), "+12025550187", "verified"),
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
    val byToken = latchkey.verifyWithOperatorToken(phones.operatorToken("jane"), at = MobileOperator("northwind"))
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

/** Which refusals lead to the next way, at a scripted server: the simulator has not all of them. */
fun refusals() = ScriptedServer().use { server ->
    val request = """{"protocol": "openid4vp-v1-unsigned", "data": {"nonce": "n"}}"""
    val (start, methods) = "/auth/carriers/start" to "/auth/number/methods"
    val end = "$start/s%2F1/confirmation"
    fun script(path: String, status: Int, body: String) {
        server.responses[path] = ScriptedServer.Response(status, body)
    }
    script(methods, 200, """{"methods": [{"method": "of_another_year", "provider": "x", "requires": "y"},
        {"method": "digital_credential", "provider": "carriers", "requires": "credential_manager"},
        {"method": "redirect", "provider": "number", "operator": "northwind", "requires": "mobile_data"}],
        "fallback": ["google"]}""")
    script(start, 201, """{"sign_in_id": "s/1", "request": $request, "expires_in": 300}""")
    script("/auth/number/start", 401, """{"error": "consent_required"}""")
    val latchkey = client(server.url, MemoryTokenStore())
    val asked = mutableListOf<String>()
    val cellular: (URL) -> HttpURLConnection = { it.openConnection() as HttpURLConnection }
    val gives: (String) -> String? = { """{"data": {}}""".also { _ -> asked.add(it) } }
    val phone = Phone("310260", digitalCredential = gives, cellular = cellular)

    // What the confirmation ends with, and whether the next way is tried; null if it is thrown.
    for ((code, goesOn) in listOf(
        "credential_invalid" to true, "invalid_grant" to true, "aggregator_error" to true, "operator_unknown" to true,
        "request_denied" to true, "invalid_id_token" to true,
        "user_already_exists" to false, "sim_swapped" to false, "access_denied" to false,
        "invalid_request" to null, "user_not_registered" to null, "rate_limited" to null)) {
        script(end, 401, """{"error": "$code"}""")
        server.requests.clear()
        if (goesOn == null) {
            assertEqual(errorOf { latchkey.signInByNumber(phone, APP_URI) }, code, "thrown")
        } else {
            val ended = latchkey.signInByNumber(phone, APP_URI) as NumberSignIn.OtherWay
            assertEqual(ended.reason.code, if (goesOn) "consent_required" else code, "after $code")
            assertEqual(ended.providers, listOf("google"), "providers")
        }
        assertEqual(server.bodies("/auth/number/start").size, if (goesOn == true) 1 else 0, "the next way after $code")
    }
    // The request goes to the phone as it is, the response of the phone to the server.
    assertEqual(asked.toSet(), setOf(JSONObject("""{"requests": [$request]}""").toString()), "the requests")
    assertEqual(server.bodies(end).single(), """{"data":{}}""", "the credential")

    // A phone without Credential Manager begins nothing; what the user dismisses is not sent.
    for ((asks, starts) in listOf<Pair<((String) -> String?)?, Int>>(null to 0, { _: String -> null } to 1)) {
        server.requests.clear()
        val ended = latchkey.signInByNumber(Phone("310260", digitalCredential = asks), APP_URI)
        assertEqual((ended as NumberSignIn.OtherWay).reason.code, "phone_refused", "dismissed")
        assertEqual(server.bodies(start).size, starts, "starts")
        assert(server.bodies(end).isEmpty(), "a credential was sent")
    }

    // A server that cannot tell the ways leaves the other providers.
    for ((code, isOtherWay) in listOf("carrier_error" to true, "rate_limited" to false)) {
        script(methods, 502, """{"error": "$code"}""")
        val ended = try { latchkey.signInByNumber(Phone(), APP_URI) } catch (error: LatchkeyException) { null }
        assertEqual((ended as NumberSignIn.OtherWay?)?.reason?.code, if (isOtherWay) code else null, "the list")
    }
}
