package latchkey.client

/** The tokens of a session. [expiresAt] is in milliseconds, by the clock of this device. */
class Tokens(val token: String, val refreshToken: String, val expiresAt: Long) {
    override fun toString() = "Tokens"
}

/** Keeps the tokens, encrypted with a key of the Android Keystore. Null means that nobody is signed in. */
interface TokenStore {
    fun load(): Tokens?
    fun save(tokens: Tokens?)
}
