package latchkey.client

/** The tokens of a session. [expiresAt] is in milliseconds, by the clock of this device. */
class Tokens(val token: String, val refreshToken: String, val expiresAt: Long) {
    /** Whether they are worth nothing without the app's key: then they begin with its thumbprint. */
    internal val isBound get() = refreshToken.indexOf('~') == 43
    override fun toString() = "Tokens"
}

/** Keeps the tokens, encrypted with a key of the Android Keystore. Null means that nobody is signed in. */
interface TokenStore {
    fun load(): Tokens?
    fun save(tokens: Tokens?)
}
