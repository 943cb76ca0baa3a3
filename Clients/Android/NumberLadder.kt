package latchkey.client

import java.net.HttpURLConnection
import java.net.URL
import org.json.JSONArray
import org.json.JSONObject

/** A way in which a phone proves its number: [method] and [requires] are words of the server. */
class NumberMethod(val method: String, val provider: String, val operator: String?, val requires: String)

/** The ways of a phone to sign in: those by number, in the order to try, and the names of the other providers. */
class NumberMethods(val methods: List<NumberMethod>, val fallback: List<String>)

/** The result of a sign-in by phone number. */
sealed class NumberSignIn {
    /** The user is signed in, by [method]. */
    class SignedIn(val isNewUser: Boolean, val method: String) : NumberSignIn()

    /** The number is no way to sign in now: [reason] says why, and [providers] are those to use in its place. */
    class OtherWay(val reason: LatchkeyException, val providers: List<String>) : NumberSignIn()
}

/**
 * The ways of a phone to sign in. [phoneNumber], with `+` and country code, is sent only for a phone that does not know
 * its network.
 */
fun Latchkey.numberMethods(phone: Phone, phoneNumber: String? = null): NumberMethods {
    val query = query(
        "platform" to "android", "mccmnc" to phone.mccmnc,
        "phone_number" to if (phone.mccmnc.isNullOrEmpty()) phoneNumber else null)
    val answer = send("GET", "/auth/number/methods?$query")
    val methods = answer.getJSONArray("methods").let { list ->
        (0 until list.length()).map { list.getJSONObject(it) }.map {
            val operator = if (it.has("operator")) it.getString("operator") else null
            NumberMethod(it.getString("method"), it.getString("provider"), operator, it.getString("requires"))
        }
    }
    val fallback = answer.getJSONArray("fallback").let { list -> (0 until list.length()).map(list::getString) }
    return NumberMethods(methods, fallback)
}

/**
 * Signs the user in by the phone number of this phone, without a page, in the ways that the server names for it. The
 * next way is tried after a refusal of the phone or of an operator.
 *
 * [redirectURI] is one of the provider's redirect URIs, and is not opened. [phoneNumber], which the user has typed,
 * only chooses the operator. Errors that another way would have, too, are thrown, and so is `user_not_registered`.
 */
fun Latchkey.signInByNumber(phone: Phone, redirectURI: String, phoneNumber: String? = null): NumberSignIn {
    val ways = try {
        numberMethods(phone, phoneNumber)
    } catch (error: LatchkeyException) {
        // Telco Finder or the database cannot tell.
        if (error.leavesNextMethod) return NumberSignIn.OtherWay(error, emptyList())
        throw error
    }
    var reason = failure(if (ways.methods.isEmpty()) "operator_unknown" else "phone_refused")
    for (method in ways.methods) {
        try {
            val isNewUser = signIn(method, phone, redirectURI) ?: continue
            return NumberSignIn.SignedIn(isNewUser, method.method)
        } catch (error: LatchkeyException) {
            if (!error.leavesOtherWays) throw error
            reason = error
            if (!error.leavesNextMethod) break
        }
    }
    return NumberSignIn.OtherWay(reason, ways.fallback)
}

/**
 * Asks whether this phone has [number], without a page, in the ways of [signInByNumber]; without a number, that of the
 * profile. If it has, the number is the user's, verified. Returns the outcome of the last way that had one, and throws
 * the error of the last way if none had.
 */
fun Latchkey.verifyPhoneNumber(phone: Phone, redirectURI: String, number: String? = null): JSONObject {
    val ways = numberMethods(phone, number)
    var outcome: JSONObject? = null
    var reason = failure(if (ways.methods.isEmpty()) "operator_unknown" else "phone_refused")
    for (method in ways.methods) {
        try {
            val verification = verify(method, phone, redirectURI, number) ?: continue
            if (verification.optString("error") !in OF_PHONES_AND_OPERATORS) return verification
            outcome = verification
        } catch (error: LatchkeyException) {
            if (!error.leavesNextMethod) throw error
            reason = error
        }
    }
    return outcome ?: throw reason
}

/** Null if the phone refuses. */
private fun Latchkey.signIn(way: NumberMethod, phone: Phone, redirectURI: String): Boolean? {
    val at = MobileOperator(way.operator, phone.mccmnc)
    val path = "/auth/${encode(way.provider)}/start"
    return when (way.method) {
        "digital_credential" -> {
            if (!way.isPossible(phone)) return null
            val started = post(path, at.fields + way.credentialFields(redirectURI))
            val proof = proof(started, phone, redirectURI) ?: return null
            enter(send("POST", path + "/" + encode(started.getString("sign_in_id")) + "/confirmation", proof))
        }
        "operator_token" -> unlessRefused { phone.operatorToken?.invoke(at) }
            ?.let { signInWithOperatorToken(it, at, way.provider) }
        "firebase_pnv" -> unlessRefused { phone.firebaseToken?.invoke() }?.let { signInWithFirebase(it, way.provider) }
        "redirect" -> {
            val cellular = phone.cellular ?: return null
            val pending = startByNumber(redirectURI, at, way.provider)
            // The server is asked over any network, and says what is wrong.
            val operator = send("GET", pending.url.removePrefix(baseURL)).getString("location")
            finishSignIn(pending, visit(redirectURI, cellular).callback(operator))
        }
        else -> null
    }
}

/** Null if the phone refuses. */
private fun Latchkey.verify(way: NumberMethod, phone: Phone, redirectURI: String, number: String?): JSONObject? {
    val at = MobileOperator(way.operator, phone.mccmnc)
    return when (way.method) {
        "digital_credential" -> {
            if (!way.isPossible(phone)) return null
            val started = verify(number, way.provider, at.fields + way.credentialFields(redirectURI))
            val proof = proof(started, phone, redirectURI) ?: return null
            requestJSON("POST", verificationPath(started.getString("verification_id")) + "/confirmation", proof)
        }
        "operator_token" -> unlessRefused { phone.operatorToken?.invoke(at) }
            ?.let { verifyWithOperatorToken(it, number, at, way.provider) }
        "firebase_pnv" -> unlessRefused { phone.firebaseToken?.invoke() }
            ?.let { verifyWithFirebase(it, way.provider, number) }
        "redirect" -> {
            val cellular = phone.cellular ?: return null
            val pending = startVerification(redirectURI, number, at, way.provider)
            finishVerification(pending, visit(redirectURI, cellular).callback(pending.url))
        }
        else -> null
    }
}

/** Whether the phone has what a digital credential needs. */
private fun NumberMethod.isPossible(phone: Phone) =
    if (requires == "mobile_data") phone.cellular != null else phone.digitalCredential != null

/** The fields that ask for a digital credential, or for a link that ends at a redirect URI. */
private fun NumberMethod.credentialFields(redirectURI: String) =
    mapOf("method" to method, "redirect_uri" to if (requires == "mobile_data") redirectURI else null)

/**
 * What ends a started sign-in or verification: the credential that the server asked for, or the code of a link that was
 * visited over the cellular network. Null if the phone refuses.
 */
private fun Latchkey.proof(started: JSONObject, phone: Phone, redirectURI: String): JSONObject? {
    if (started.has("authorization_url")) {
        val cellular = phone.cellular ?: return null
        val callback = visit(redirectURI, cellular).callback(started.getString("authorization_url"))
        val code = callbackItems(callback, redirectURI)["code"] ?: throw failure("authorization_stopped")
        return JSONObject(mapOf("code" to code))
    }
    val requests = JSONObject(mapOf("requests" to JSONArray(listOf(started.getJSONObject("request")))))
    return unlessRefused { phone.digitalCredential?.invoke(requests.toString())?.let { JSONObject(it) } }
}

private fun Latchkey.visit(redirectURI: String, open: (URL) -> HttpURLConnection): CellularVisit {
    val server = URL(baseURL)
    val isOnThisMachine = server.protocol == "http" && server.host in listOf("127.0.0.1", "localhost", "[::1]")
    return CellularVisit(redirectURI, isOnThisMachine, open)
}

/** What a function of the phone returns; null if it throws, for example because the user has dismissed a dialog. */
private fun <Value> unlessRefused(ask: () -> Value?): Value? =
    try {
        ask()
    } catch (error: InterruptedException) {
        throw error
    } catch (error: Exception) {
        null
    }
