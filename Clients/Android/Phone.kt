package latchkey.client

import java.net.HttpURLConnection
import java.net.URL

/**
 * What a phone can do to prove its number: an app sets what its phone has. A function that returns null or throws
 * refuses, and the next way is tried.
 */
class Phone(
    /** The network code of the SIM: `TelephonyManager.getSimOperator()`. */
    val mccmnc: String? = null,
    /**
     * Asks Credential Manager for a digital credential: gets the JSON of a `GetDigitalCredentialOption`, and returns
     * that of the `DigitalCredential`.
     */
    val digitalCredential: ((requestJson: String) -> String?)? = null,
    /** Gets a TS.43 operator token, which works once. */
    val operatorToken: ((at: MobileOperator) -> String?)? = null,
    /** Gets a token of Firebase Phone Number Verification, which works once. */
    val firebaseToken: (() -> String?)? = null,
    /**
     * Opens a connection over the cellular network, whatever else the phone is connected to: `openConnection` of a
     * `Network` with `TRANSPORT_CELLULAR`. The app has no `CookieHandler` of its own, which would add its cookies.
     */
    val cellular: ((url: URL) -> HttpURLConnection)? = null
)
