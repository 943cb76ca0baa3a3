// The frontend of docs/web-frontends.md, which copies its JavaScript from this file. The test replaces
// https://login.example with Latchkey's public URL, and https://simulator.example with that of the simulator.

// snippet: js-sign-in
import { configure } from "https://login.example/latchkey.js";

const latchkey = configure({ baseURL: "https://login.example" });

/** Runs when the page is loaded: the browser may be returning from a sign-in. */
async function start() {
  const outcome = await latchkey.finishSignIn();
  if (outcome) await entered(outcome);
}

async function entered(outcome) {
  // If registration is required: send the fields of a form.
  if (outcome.status === "partial") await latchkey.register(outcome, { name: "Jo", email: outcome.identifier });
}

document.querySelector("#sign-in").onclick = () => latchkey.signIn();
document.querySelector("#popup").onclick = async () => {
  try {
    await entered(await latchkey.signInWithPopup());
    await show();
  } catch (error) {
    complain(error); // error.error is "popup_blocked", "popup_closed", "access_denied", …
  }
};
// end

// snippet: js-native
document.querySelector("#google").onclick = async () => {
  try {
    const nonce = await latchkey.nonce("google");
    const id_token = await googleIDToken(nonce); // by Google's script, which puts the nonce into the token
    await entered(await latchkey.signInNatively("google", { id_token, nonce }));
    await show();
  } catch (error) {
    complain(error);
  }
};
// end

// snippet: js-session
async function show() {
  const user = await latchkey.me();
  const response = await latchkey.fetch("/users/me/identities");
  const { identities } = await response.json();
  document.querySelector("#state").textContent = `user ${user.user_id}, ${identities.length} identity`;
}

document.querySelector("#sign-out").onclick = async () => {
  await latchkey.signOut();
  document.querySelector("#state").textContent = "signed out";
};
// end

/** Plays Google's script. */
async function googleIDToken(nonce) {
  const body = new URLSearchParams({ nonce, user: "jane" });
  const answer = await fetch("https://simulator.example/providers/google/native-tokens", { method: "POST", body });
  return (await answer.json()).id_token;
}

function complain(error) {
  document.querySelector("#state").textContent = `${error.error}: ${error.error_description}`;
}

Object.assign(window, { latchkey, configure, googleIDToken });
try {
  await start();
  await show();
} catch (error) {
  complain(error);
}
