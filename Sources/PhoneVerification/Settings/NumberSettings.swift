import LatchkeyConfiguration
import SignIn

/// The keys of providers that verify numbers, each with the kinds that have it.
extension ProviderDraft {
    static let kinds: ProviderKinds = (
        readers: [
            .camara: { $0.finishedOperators(&$1) },
            .firebasePNV: { draft, _ in [draft.finishedFirebase()].compactMap(\.self) },
            .aggregator: { [$0.finishedAggregator(&$1)].compactMap(\.self) },
        ], settings: numberSettings, lists: [("operators", "operator", operatorSettings)]
    )

    private static let numberSettings =
        (ofNumbers + ofDeployments + [operatorList]
        + ofServer(ownKeys, \.numbers.telcoFinder.client, in: "telco_finder."))
        .map { ofAggregatorsToo.contains($0.name) ? $0.of(.camara, .aggregator) : $0.of(.camara) }
        + ofFirebase.map { $0.of(.firebasePNV) } + ofNumberSignIns.map { $0.of(.firebasePNV, .aggregator) }
        + ofAggregators.map { $0.of(.aggregator) }

    private static let ofAggregatorsToo: Set = ["headers", "sim_swap.if_swapped", "sim_swap.if_unknown"]

    private static let ofNumbers: [Setting<ProviderDraft>] = [
        Setting(
            "purpose", .optional(.purpose), \.numbers.purpose,
            "Why phone numbers are verified: a purpose of the W3C Data Privacy Vocabulary, such as "
                + "dpv:FraudPreventionAndDetection, which operators check against the registration."
        ).required("give the purpose that the mobile operators have registered, dpv: and its name"),
        Setting(
            "sim_swap.max_age_hours", .integer(1...2400), \.numbers.simSwap.maximumAge,
            "How long a change of the SIM counts, in hours. The default is 240."
        ).withoutDefault(),
        Setting(
            "sim_swap.if_swapped", .choice, \.numbers.simSwap.ifSwapped,
            "What a change of the SIM within that time leads to. refuse: the number is not believed; report: it is in "
                + "the log; off: the mobile operator is not asked. The default is refuse if another key of sim_swap is "
                + "given, and off otherwise."
        ).withoutDefault(),
        Setting(
            "sim_swap.if_unknown", .choice, \.numbers.simSwap.ifUnknown,
            "What happens if the mobile operator does not tell whether the SIM was changed. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse."
        ).withoutDefault(),
        Setting(
            "telco_finder.issuer", .optional(.issuer), \.numbers.telcoFinder.issuer,
            "The issuer of GSMA's Telco Finder, which finds the operator of a phone number, spelled exactly as in its "
                + "metadata."
        ).required(),
        Setting(
            "telco_finder.api_root", .optional(.issuer), \.numbers.telcoFinder.apiRoot,
            "The URL that the path of Telco Finder's API follows."
        ).required(),
        Setting(
            "telco_finder.client_id", .optional(.clientID), \.numbers.telcoFinder.client.id,
            "The client_id of this server at Telco Finder."
        ).required(),
        Setting(
            "telco_finder.scopes", .list(of: .scope, "a list of scopes"), \.numbers.telcoFinder.scopes,
            "The scopes of access tokens for Telco Finder. The default is telcofinder."
        ).withoutDefault(),
        Setting(
            "telco_finder.portability_search", .choice, \.numbers.telcoFinder.portabilitySearch,
            "How far Telco Finder searches where numbers move between operators. shallow: in its own records, which "
                + "may be old, at less cost; deep: in all systems of the country. The default is deep."
        ).withoutDefault(),
        Setting(
            "telco_finder.by_address", .flag(), \.numbers.telcoFinder.findsByAddress,
            "Whether Telco Finder is asked by the address and port of a phone that names no network and no number."),
        Setting(
            "telco_finder.if_other_operator", .choice, \.numbers.telcoFinder.ifOtherOperator,
            "What happens if the number that an operator reports is another operator's by Telco Finder. refuse: the "
                + "number is not believed; report: it is in the log; off: Telco Finder is not asked about reported "
                + "numbers. The default is refuse."
        ).withoutDefault(),
        Setting(
            "telco_finder.if_unknown", .choice, \.numbers.telcoFinder.ifUnknown,
            "What happens if Telco Finder does not tell the operator of a reported number. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse."
        ).withoutDefault(),
    ]

    /// How the APIs are deployed: at one operator, or at all that do not say it.
    private static let ofDeployments: [Setting<ProviderDraft>] = [
        Setting(
            "api_versions.number_verification", .apiVersion, \.numbers.deployment.numberVerification,
            "The version of Number Verification in its path: v0, v1 or v2, also with two more digits, such as v031."),
        Setting(
            "api_versions.sim_swap", .apiVersion, \.numbers.deployment.simSwap, "The version of SIM Swap in its path."),
        Setting(
            "api_prefix", .pathPrefix, \.numbers.deployment.prefix,
            "What the paths of the CAMARA APIs have before them below api_root, such as /aggregator/v031."),
        Setting(
            "headers", .headers, \.numbers.deployment.headers, isSecret: true,
            "Header fields of requests to the CAMARA APIs or the aggregator, by name, such as a key. The operator's "
                + "token endpoint does not get them. An operator's own take the place of the provider's."),
        Setting(
            "operator_token_prefix", .tokenPrefix, \.numbers.deployment.operatorTokenPrefix,
            "What is before an operator token where it names the user (login_hint, or sub of a JWT)."),
        Setting(
            "scope_form", .choice, \.numbers.deployment.scopeForm,
            "How scopes say the purpose. separate: dpv:Purpose number-verification:verify; combined: "
                + "dpv:Purpose#number-verification:verify; combined-v0: dpv:Purpose#number-verification-verify-read; "
                + "purpose: dpv:Purpose alone."),
    ]

    /// Each operator begins as what the provider says of all, so this is read after it.
    private static let operatorList = Setting<ProviderDraft>(
        "operators", "a list of operators", of: "operator",
        "The mobile operators, each an OpenID provider with CAMARA APIs.",
        set: { node, draft, context in draft.readOperators(node, &context) },
        show: { $0.numbers.operators.compactMap(\.numbers.operatorName).joined(separator: ",") }
    ).required("list at least one")

    /// At the providers that tell no subject but the number.
    private static let ofNumberSignIns: [Setting<ProviderDraft>] = [
        Setting(
            "register_unknown_numbers", .flag(), \.numbers.rules.registersUnknown,
            "Whether a number that no account has registers, as registration says. It may be another person's one day. "
                + "Otherwise its user signs in in another way first, and adds the number as an identity."),
        Setting(
            "sign_in_known_numbers", .flag(), \.numbers.rules.signsInKnown,
            "Whether a number signs in to the account that has verified it in another way. Otherwise its user signs in "
                + "in another way first, and adds the number as an identity."),
    ]

    private static let ofAggregators: [Setting<ProviderDraft>] = [
        Setting(
            "adapter", .choice, \.numbers.aggregator.adapter,
            "The API of the aggregator. sessions: one call prepares a session, and another one takes its credential."),
        Setting(
            "prepare_endpoint", .optional(.carrierURL), \.rules.endpoints["prepare_endpoint"],
            "Where a session is prepared."),
        Setting(
            "process_endpoint", .optional(.carrierURL), \.rules.endpoints["process_endpoint"],
            "Where the credential of a session becomes a phone number."),
        Setting(
            "credential_origins", .list(of: .credentialOrigin, "a list of origins"),
            \.numbers.aggregator.credentialOrigins,
            "The origins that credentials may be for, as aud: of pages, such as https://app.example.com; of an app "
                + "on Android, android:apk-key-hash: and the SHA-256 of its signing certificate in base64url."),
        Setting(
            "mccmnc", .networks, \.numbers.aggregator.networks,
            "The networks whose phones are asked for a credential. By default all that link_mccmnc does not list."),
        Setting(
            "link_mccmnc", .networks, \.numbers.aggregator.linkNetworks,
            "The networks whose phones open a link over the mobile network instead."),
        Setting(
            "desktop", .flag("on", "off"), \.numbers.aggregator.verifiesDesktops,
            "Whether a signed-in user may verify a number by a QR code, which the user's phone scans. If an attacker "
                + "makes another person scan the attacker's code, the attacker's account gets that person's number as "
                + "verified, and the person's account loses it."),
        Setting(
            "consent", .optional(.consent), \.numbers.aggregator.consent,
            "What the user consents to, for the aggregator to show."),
        Setting(
            "fields", .aggregatorFields, \.numbers.aggregator.fields,
            "The names of the members of the aggregator's requests and responses that differ from the defaults, such "
                + "as {session: session.session_key}."),
    ]

    private static let ofFirebase: [Setting<ProviderDraft>] = [
        Setting(
            "project_number", .optional(.projectNumber), \.numbers.projectNumber,
            "The number of the Firebase project, which its tokens name as their issuer and as an audience."
        ).required("give the project number that the Firebase console shows, in quotes"),
        Setting(
            "project_id", .optional(.projectID), \.numbers.projectID,
            "The id of the Firebase project, which its tokens name as the other audience."
        ).required("give the project ID that the Firebase console shows"),
    ]

    /// The keys of a mobile operator of a provider of verified phone numbers (`kind: camara`).
    static let operatorSettings =
        ofOperators + ofDeployments + ofCredentialRequests
        + ofServer(
            ownKeys + [
                "other_private_key", "other_private_key_id", "other_private_key_alg", "id_token_signed_response_alg",
            ], \.client)

    private static let ofOperators: [Setting<ProviderDraft>] = [
        Setting(
            "name", .optional(.operatorName), \.numbers.operatorName,
            "The mobile operator's name in requests: 1 to 32 lower-case letters, digits and hyphens. It must never "
                + "change."
        ).required(),
        Setting(
            "operator_id", .optional(.keyID), \.numbers.finderID,
            "The id by which Telco Finder knows the operator (operatorId). The default is its name."),
        Setting(
            "mccmnc", .networks, \.numbers.networks, "The networks that the operator serves."),
        Setting(
            "issuer", .optional(.issuer), \.issuer,
            "The mobile operator's issuer, spelled exactly as in its metadata and ID tokens."
        ).required(),
        Setting(
            "api_root", .optional(.issuer), \.numbers.apiRoot,
            "The URL that the paths of the operator's CAMARA APIs follow, such as https://api.northwind.example."
        ).required(),
        Setting("client_id", .optional(.clientID), \.client.id, "The client_id of this server at the operator.")
            .required(),
        Setting(
            "hashed_phone_number", .flag(), \.numbers.takesHashes,
            "Whether a number to verify is sent as its SHA-256, for a mobile operator that takes it."),
    ]

    private static let ofCredentialRequests: [Setting<ProviderDraft>] = [
        Setting(
            "digital_credential.origins", .list(of: .credentialOrigin, "a list of origins"),
            \.numbers.credentials.origins,
            "The origins that digital credentials for the operator may be for, as credential_origins. With them, "
                + "phones are asked for a credential, which the operator redeems."
        ).required("list the origins of the app and of the pages that ask for credentials"),
        Setting(
            "digital_credential.certificate_file", .optional(.path), \.numbers.credentials.certificateFile,
            "A PEM file of the certificate by which phones know who asks, followed by its intermediates."
        ).required(),
        Setting(
            "digital_credential.certificate_key", .optional(.certificateKey), \.numbers.credentials.certificateKey,
            isSecret: true, "The private key of that certificate, which signs the requests, in PEM."
        ).required("give it or certificate_key_file"),
        Setting(
            "digital_credential.encryption_key", .optional(.publicEncryptionKey), \.numbers.credentials.encryptionKey,
            "The operator's public key that phones encrypt the credential for: a JSON Web Key of P-256, in quotes."
        ).required("give the key that the operator names for it"),
        Setting(
            "digital_credential.consent", .optional(.consent), \.numbers.credentials.consent,
            "What the user consents to, for the phone to show, as the operator wants it (consent_data)."),
    ]
}
