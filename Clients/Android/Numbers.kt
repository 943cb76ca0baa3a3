package latchkey.client

import org.json.JSONObject

/** The mobile operator of a phone number, by its name in the server's configuration or by a network that it serves. */
class MobileOperator(val name: String? = null, val mccmnc: String? = null) {
    internal val fields get() = mapOf("operator" to name, "mccmnc" to mccmnc)
}

/**
 * A verification that waits for the browser, which must use the cellular network. Keep it in the saved state of the
 * activity.
 */
class PendingVerification(val id: String, val url: String, val redirectURI: String)

/**
 * Makes a pending sign-in by number for a browser that uses the cellular network; [finishSignIn] ends it.
 * [signInByNumber] needs no browser.
 */
fun Latchkey.startByNumber(
    redirectURI: String, at: MobileOperator = MobileOperator(), provider: String = numberProvider
): PendingSignIn = start(provider, redirectURI, *at.fields.toList().toTypedArray())

/**
 * Signs in with a TS.43 operator token, which the app got from the operator by the SIM. A token works once. True if
 * this sign-in made the user.
 */
fun Latchkey.signInWithOperatorToken(
    token: String, at: MobileOperator = MobileOperator(), provider: String = numberProvider
): Boolean = enter(post("/auth/${encode(provider)}/sign-in", at.fields + ("operator_token" to token)))

/** Signs in with a token of Firebase Phone Number Verification, which works once. */
fun Latchkey.signInWithFirebase(token: String, provider: String): Boolean =
    enter(post("/auth/${encode(provider)}/sign-in", mapOf("token" to token)))

/** Adds the phone number of this device to the signed-in user, by a TS.43 operator token. Returns the identity. */
fun Latchkey.linkNumber(
    operatorToken: String, at: MobileOperator = MobileOperator(), provider: String = numberProvider
): JSONObject = link(provider, at.fields + ("operator_token" to operatorToken))

/** Adds the phone number to the signed-in user, by a token of Firebase. Returns the identity. */
fun Latchkey.linkNumberWithFirebase(token: String, provider: String): JSONObject =
    link(provider, mapOf("token" to token))

private fun Latchkey.link(provider: String, fields: Map<String, String?>) =
    request("POST", "/users/me/identities", (fields + ("provider" to provider)).filterValues { it != null })

/**
 * Asks the operator whether this device has [number], by a TS.43 operator token; without a number, that of the
 * profile. Returns the verification: `status` is `verified`, `mismatch` or `failed` with an `error`.
 */
fun Latchkey.verifyWithOperatorToken(
    token: String, number: String? = null, at: MobileOperator = MobileOperator(), provider: String = numberProvider
): JSONObject = verify(number, provider, at.fields + ("operator_token" to token))

/** Verifies [number] with a token of Firebase, as [verifyWithOperatorToken] does. */
fun Latchkey.verifyWithFirebase(token: String, provider: String, number: String? = null): JSONObject =
    verify(number, provider, mapOf("token" to token))

/**
 * Begins a verification in a browser that uses the cellular network. No other app may be able to receive
 * [redirectURI]: what arrives there confirms the verification. [verifyPhoneNumber] needs no browser.
 */
fun Latchkey.startVerification(
    redirectURI: String, number: String? = null, at: MobileOperator = MobileOperator(),
    provider: String = numberProvider
): PendingVerification {
    val started = verify(number, provider, at.fields + ("redirect_uri" to redirectURI))
    val (id, url) = listOf("verification_id", "authorization_url").map(started::getString)
    return PendingVerification(id, url, redirectURI)
}

/** Ends a verification with the URL that opened the app, at most two minutes later. Returns the verification. */
fun Latchkey.finishVerification(pending: PendingVerification, callback: String): JSONObject {
    val items = callbackItems(callback, pending.redirectURI)
    if (items["action"] != "verify_phone" || items["verification_id"] != pending.id) throw failure("foreign_callback")
    if (items["status"] == "failure") throw failure(items["error"] ?: "foreign_callback", items)
    val confirmation = items["confirmation"] ?: throw failure("foreign_callback")
    return request("POST", verificationPath(pending.id) + "/confirmation", mapOf("confirmation" to confirmation))
}

/** Returns the outcome of a verification of this session again, for a day. */
fun Latchkey.phoneVerification(id: String): JSONObject = request("GET", verificationPath(id))

internal fun verificationPath(id: String) = VERIFICATIONS + "/" + encode(id)

internal fun Latchkey.verify(number: String?, provider: String, fields: Map<String, String?>): JSONObject {
    val all = fields + mapOf("phone_number" to number, "provider" to provider)
    return request("POST", VERIFICATIONS, all.filterValues { it != null })
}

private const val VERIFICATIONS = "/users/me/phone/verifications"
