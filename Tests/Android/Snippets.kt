package latchkey.client.tests

import java.net.HttpURLConnection
import java.net.URL
import java.net.URLConnection
import latchkey.client.Latchkey
import latchkey.client.NumberSignIn
import latchkey.client.Phone
import latchkey.client.nonce
import latchkey.client.signIn
import latchkey.client.signInByNumber
import latchkey.client.signInNatively
import org.json.JSONObject

/** The parts of Android that the code of docs/mobile-apps.md uses; that code is copied from here. */
class Device(
    val googleIDToken: (nonce: String) -> String = { "" }, private val credential: (json: String) -> String? = { null },
    val openConnection: (URL) -> URLConnection = { it.openConnection() }
) {
    /** Plays `android.net.Network`. */
    val network get() = this
    val shown = mutableListOf<Any>()
    private fun show(what: Any) = shown.add(what)
    private fun askCredentialManager(requestJson: String) = credential(requestJson)

    fun google(latchkey: Latchkey) {
        // snippet: kotlin-google
        val nonce = latchkey.nonce("google")
        val idToken = googleIDToken(nonce)  // GetGoogleIdOption of Credential Manager, with setNonce(nonce)
        latchkey.signInNatively("google", idToken, nonce)
        // end
    }

    fun number(latchkey: Latchkey, redirectURI: String) {
        // snippet: kotlin-number
        val phone = Phone(
            mccmnc = "310010",  // TelephonyManager.getSimOperator()
            digitalCredential = ::askCredentialManager,
            cellular = { url -> network.openConnection(url) as HttpURLConnection })
        when (val outcome = latchkey.signInByNumber(phone, redirectURI)) {
            is NumberSignIn.SignedIn -> show(latchkey.me())
            is NumberSignIn.OtherWay -> show(outcome.providers)  // the app's present way, or one of these
        }
        // end
    }

    fun carrier(latchkey: Latchkey, sdk: JSONObject) {
        val (code, mccmnc, redirectURI) = listOf("code", "mccmnc", "redirect_uri").map(sdk::getString)
        val (codeVerifier, nonce) = sdk.getString("code_verifier") to sdk.optString("nonce")
        // snippet: kotlin-sign-in
        latchkey.signIn(code, mccmnc, redirectURI, codeVerifier, nonce)  // the values of the carrier's SDK
        val user = latchkey.me()
        // end
        show(user)
    }
}
