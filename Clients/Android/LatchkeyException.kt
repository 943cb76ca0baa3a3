package latchkey.client

import org.json.JSONObject

/**
 * An error of the server. [code] is its `error`; [status] is that of the response, 0 if there was none; [response] has
 * all members of the response. For `user_not_registered` it has `state_key`, with which [register] goes on.
 *
 * This library adds the codes `signed_out`, `malformed_answer`, `foreign_callback`, `phone_refused`,
 * `cellular_unavailable` and `authorization_stopped`.
 */
class LatchkeyException(val code: String, val status: Int, message: String, val response: JSONObject) :
    Exception(message) {
    /** Whether another way may sign the user in, after a sign-in by phone number. Any other failure would remain. */
    val leavesOtherWays: Boolean get() = leavesNextMethod || code in ABOUT_USER

    /** Whether the phone or an operator refused, so that another method by number may succeed. */
    internal val leavesNextMethod: Boolean get() = code in OF_PHONES_AND_OPERATORS
}

/** The refusals that are about the user, so that no method by number is left. */
private val ABOUT_USER = setOf("sim_swapped", "access_denied", "user_already_exists")

/** The errors that are about the phone, its operator or its credential (docs/verified-numbers.md). */
internal val OF_PHONES_AND_OPERATORS = setOf(
    "not_on_mobile_network", "cellular_unavailable", "authorization_stopped", "operator_unknown", "consent_required",
    "invalid_grant", "temporarily_unavailable", "credential_invalid", "carrier_error", "carrier_timeout",
    "aggregator_error", "issuer_mismatch", "request_denied", "invalid_id_token")

internal fun failure(code: String, items: Map<String, String> = emptyMap()) =
    LatchkeyException(
        code, 0, items["message"] ?: items["error_description"] ?: OF_LIBRARY[code] ?: code, JSONObject(items))

/** The messages of this library. */
private val OF_LIBRARY = mapOf(
    "signed_out" to "The user is not signed in.",
    "malformed_answer" to "The response is not from Latchkey. Check baseURL.",
    "foreign_callback" to "The URL is not the callback of this sign-in or verification.",
    "operator_unknown" to "The server has no way for this phone to prove its number.",
    "phone_refused" to "The phone has no way to prove its number, or refused.",
    "cellular_unavailable" to "There is no connection over the cellular network, or no response in time.",
    "authorization_stopped" to "The operator showed a page, sent no code, or redirects to a URL that is not https.")
