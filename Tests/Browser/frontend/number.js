// The frontend of docs/verified-numbers.md, which copies its JavaScript from this file. The test replaces
// https://login.example with Latchkey's public URL, and https://simulator.example with that of the simulator.

// snippet: js-number
import { configure } from "https://login.example/latchkey.js";

const latchkey = configure({ baseURL: "https://login.example", provider: "number" });

/** Runs when the page is loaded: the browser may be returning from the operator. */
async function start() {
  const outcome = await latchkey.finishSignIn({ operatorToken });
  if (outcome) await entered(outcome);
}

async function entered(outcome) {
  // If registration is required: send the fields of a form.
  if (outcome.status === "partial") await latchkey.register(outcome, { name: "Jo", email: "jo@example.org" });
  // The number is no way to sign in now: one of outcome.providers, a password, …
  if (outcome.status === "fallback") otherWays(outcome.reason);
}

document.querySelector("#number").onclick = async () => {
  const outcome = await latchkey.signInWithNumber({ mccmnc: "310010" });
  if (outcome) await entered(outcome); // without one, the browser goes to the operator
};
// end

/** Plays the phone, which gets a token of its operator by the SIM card. */
async function operatorToken({ mccmnc }) {
  if (sessionStorage.getItem("sim") === "none" || mccmnc !== "310010") return null;
  const body = new URLSearchParams({ user: "ravi" });
  const answer = await fetch("https://simulator.example/operators/northwind/operator-tokens", { method: "POST", body });
  return (await answer.json()).operator_token;
}

function otherWays(reason) {
  document.querySelector("#state").textContent = "another way, because of " + reason;
}

async function show() {
  const user = await latchkey.me();
  document.querySelector("#state").textContent = `user ${user.user_id}, ${user.phone_number}`;
}

Object.assign(window, { latchkey, configure, operatorToken });
try {
  await start();
  if (!document.querySelector("#state").textContent) await show();
} catch (error) {
  document.querySelector("#state").textContent = `${error.error}: ${error.error_description}`;
}
