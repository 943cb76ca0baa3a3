package latchkey.client

import org.json.JSONObject

/** A sign-in that waits for the browser. Keep it in the saved state of the activity: the app may end meanwhile. */
class PendingSignIn(val url: String, val redirectURI: String, val codeVerifier: String) {
    override fun toString() = "PendingSignIn"
}

/** Signs in with the values of the carrier's SDK. True if this sign-in made the user. */
fun Latchkey.signIn(code: String, mccmnc: String, redirectURI: String, codeVerifier: String, nonce: String?): Boolean =
    enter(sendAgainIfLost(
        "/auth/${encode(provider)}/sign-in",
        mapOf(
            "client_id" to clientID, "code" to code, "mccmnc" to mccmnc, "redirect_uri" to redirectURI,
            "code_verifier" to codeVerifier, "nonce" to nonce)))

/**
 * Starts a sign-in in a browser: open the URL of the result in a Custom Tab. [redirectURI] is registered for the
 * client, and opens this app only, such as `com.example.app:/signed-in`. [mccmnc] is the network of the SIM, if the
 * user need not choose it.
 */
fun Latchkey.startSignIn(redirectURI: String, mccmnc: String? = null): PendingSignIn =
    start(provider, redirectURI, "client_id" to clientID, "mccmnc" to mccmnc)

internal fun Latchkey.start(
    provider: String, redirectURI: String, vararg fields: Pair<String, String?>
): PendingSignIn {
    val codeVerifier = newCodeVerifier()
    val query = query(
        "client_type" to "android", "redirect_uri" to redirectURI, "code_challenge" to codeChallenge(codeVerifier),
        "code_challenge_method" to "S256", *fields)
    return PendingSignIn("$baseURL/auth/${encode(provider)}/start?$query", redirectURI, codeVerifier)
}

/** Finishes a sign-in with the URL that opened the app. Only this app has the code verifier that it needs. */
fun Latchkey.finishSignIn(pending: PendingSignIn, callback: String): Boolean {
    val items = callbackItems(callback, pending.redirectURI)
    val sessionID = items["session_id"]
    if (items["status"] == "success" && sessionID != null) {
        return enter(post("/auth/session", mapOf("session_id" to sessionID, "code_verifier" to pending.codeVerifier)))
    }
    if (items["status"] == "partial") {
        throw failure("user_not_registered", items + ("code_verifier" to pending.codeVerifier))
    }
    throw failure(items["error"] ?: "foreign_callback", items)
}

/** Registers the user whom an error `user_not_registered` is about. The attributes are those of your form. */
fun Latchkey.register(offer: JSONObject, attributes: Map<String, String>): Boolean {
    val fields = attributes.toMutableMap<String, String?>()
    for (name in listOf("state_key", "code_verifier")) if (offer.has(name)) fields[name] = offer.getString(name)
    return enter(post("/users", fields))
}
