// Sign-in by phone number. A demonstration also has a simulated phone: its SIM card, and how it is connected.

import { $, button, carrier, make } from "./console-parts.js";

/** Tells the simulated operators how this browser is connected. Cookies are of a host, whatever the port. */
const DEVICE = "simulated_device";
/** The SIM card of the simulated phone: operator and subscriber. */
const SIM = "latchkey.console.sim";

/** What a page says when the number is no way to sign in now, by the reason. */
const REASONS = {
  not_on_mobile_network: "The operator did not recognise this phone: it uses Wi-Fi, a VPN or another SIM card. " +
    "Try again without Wi-Fi.",
  sim_swapped: "The SIM card was changed a short time ago, so the number alone is not enough.",
  operator_unknown: "No operator here serves this SIM card.",
  consent_required: "The operator wants your consent first.",
};

/** What proves the number of an app's phone, and what happens, by the name of the way in the API. */
const WAYS = {
  digital_credential: ["The phone’s wallet", "The phone asks its user, and gives the app an encrypted credential."],
  operator_token: ["The SIM card", "The operator knows the card, and gives the app a token. The user sees nothing."],
  firebase_pnv: ["Google’s library", "Google asks the operator, and gives the app a token. The user agrees once."],
  redirect: ["The mobile network", "The operator knows whose connection it is. The user sees nothing."],
};

let operators = [];
let isDemo = false;

/** The row of a provider of verified phone numbers. `methods` asks the server for the ways of a phone. */
export function numberWay(name, signIn, methods, nameOf) {
  const go = button("Sign in with your phone number", signIn, "primary");
  go.dataset.kind = "camara";
  go.setAttribute("aria-describedby", "number-why");
  const why = make("p", "quiet", "The mobile network knows your number: one tap, without a code by text message.");
  why.id = "number-why";
  return make("div", "number", go, why, isDemo ? simulatedPhone(methods, nameOf) : operatorField(name));
}

/** Loads the operators and the phone of a demonstration. */
export async function useNumbers({ demo }) {
  isDemo = demo !== null;
  if (!isDemo) return;
  ({ operators } = await (await fetch(demo.carriers_url + "/demo/device")).json());
}

/** The operators of a demonstration. */
export const knownOperators = () => operators;

/** The display name of an operator; undefined for another name. */
export function operatorTitle(name) {
  return operators.find((one) => one.name === name)?.title;
}

/** The operator of the SIM card, as the API names it. */
export function operatorOfSIM() {
  if (isDemo) return { operator: sim()?.split(":")[0] ?? operators[0]?.name };
  const asked = $("number-operator")?.value.trim();
  if (!asked) return {};
  return /^[0-9]{5,6}$/.test(asked) ? { mccmnc: asked } : { operator: asked };
}

/** Gets an operator token by the SIM card of the simulated phone. A browser has no other SIM card. */
export async function operatorToken(demo) {
  // The browser may have returned before useNumbers() was called.
  const [operator, user] = demo ? sim()?.split(":") ?? [] : [];
  if (!user) return null;
  const answer = await carrier({ demo }, `/operators/${operator}/operator-tokens`, { user });
  return answer.operator_token;
}

/** Says why the number is no way to sign in now. */
export function showFallback({ reason, error }) {
  const text = `${REASONS[reason] ?? (error.error_description || error.message)} Use another way.`;
  $("fallback").replaceChildren(
    make("h4", "", "Your number could not be verified"), make("p", "", text),
    make("p", "ids", [error.error, error.correlation_id && `correlation_id ${error.correlation_id}`]
      .filter(Boolean).join(" · ")));
  $("fallback").hidden = false;
  $("ways").querySelector(".provider button")?.focus();
}

/** What the page says after a sign-in by number. */
export function welcome() {
  return isDemo && connection() === "wifi"
    ? "You are signed in. Over Wi-Fi, the operator recognised the SIM card in place of the network."
    : "You are signed in by your phone number.";
}

function operatorField(name) {
  const input = make("input");
  input.id = "number-operator";
  input.autocomplete = "off";
  input.spellcheck = false;
  return make("label", "", `Operator at ${name}, by name or mccmnc, if it has several`, input);
}

function simulatedPhone(methods, nameOf) {
  const ladder = make("ol", "ladder");
  const show = () => showLadder(ladder, methods, nameOf);
  const cards = make("select", "",
    ...operators.flatMap(({ name, title, users }) => users.map((user) =>
      new Option(`${user.name}, ${title}`, `${name}:${user.id}`))),
    new Option("No SIM card", ""));
  cards.value = sim() ?? "";
  cards.id = "sim-card";
  const nets = make("select", "", new Option("Mobile network", "cellular"), new Option("Wi-Fi only", "wifi"));
  nets.value = connection();
  nets.id = "connection";
  for (const choice of [cards, nets]) {
    choice.addEventListener("change", () => {
      connect(nets.value, cards.value);
      nets.value = connection();
      show();
    });
  }
  // For operators, this phone is no longer any phone.
  connect(nets.value, cards.value);
  show();
  return make("fieldset", "device", make("legend", "", "This phone, simulated"),
    make("label", "", "SIM card", cards), make("label", "", "Connection", nets),
    make("div", "tries",
      make("p", "quiet", "An app has more ways than a page. It asks the server for those of its phone, and tries " +
        "them in this order:"), ladder));
}

/** Shows the ways that the server names for an app on the phone, and after them the other providers. */
async function showLadder(ladder, methods, nameOf) {
  const card = sim();
  const { mccmncs = [] } = operators.find(({ name }) => card?.startsWith(name + ":")) ?? {};
  const found = await methods({ platform: "android", mccmnc: mccmncs[0] }).catch(() => null);
  // The card may have been changed meanwhile.
  if (!found || card !== sim()) return;
  // Without a card, no way can prove a number.
  const ways = card ? found.methods : [];
  ladder.replaceChildren(
    ...ways.map(({ method, requires }) => {
      const isOff = requires === "mobile_data" && connection() === "wifi";
      const [title, text] = WAYS[method] ?? [method, ""];
      return rung(title, isOff ? "Off now: the phone has Wi-Fi only." : text, isOff);
    }),
    rung("Another way", found.fallback.map(nameOf).join(", "), false));
}

function rung(title, text, isOff) {
  return make("li", isOff ? "off" : "", make("b", "", title), make("span", "", text));
}

/** The SIM card, as operator:subscriber: that of the cookie, else the last one here; null without one. */
function sim() {
  const [, present] = /^cellular:(.+)$/.exec(device()) ?? [];
  const chosen = present ?? sessionStorage.getItem(SIM);
  if (chosen !== null) return chosen || null;
  const [first] = operators;
  return first ? `${first.name}:${first.users[0].id}` : null;
}

function connection() {
  return device() === "wifi" ? "wifi" : "cellular";
}

function connect(kind, card) {
  sessionStorage.setItem(SIM, card);
  const text = kind === "cellular" && card ? `cellular:${card}` : "wifi";
  document.cookie = `${DEVICE}=${text}; Path=/; SameSite=Lax`;
}

/** The device as its cookie names it. */
function device() {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(DEVICE + "="));
  return found ? found.slice(DEVICE.length + 1) : "cellular";
}
