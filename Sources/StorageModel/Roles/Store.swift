/// Everything Latchkey stores: the sum of the roles, for the code that puts the use cases together.
///
/// A use case takes only the roles it uses, such as `any SessionStore & RefreshTokenStore`. In every role:
///
/// - A call is atomic and, once it returns, durable.
/// - "Not found" is a result (nil or a case). A ``StorageError`` means that the store cannot tell; it must never be
///   taken for "signed out".
package protocol Store: APIKeyStore, AuditStore, BackchannelAuthenticationStore, CapsuleStore, IdentityStore,
    IssuerBindingStore, MaintainedStore, NonceStore, OneTimeRecordStore, PhoneVerificationStore, ProviderTokenStore,
    ReceiptStore, RefreshTokenStore, RegistrationStore, SessionStore, SigningKeyStore, SignInStore, UserStore
{}
