// The signed-in user: profile, sessions, and ways to sign in.

import { $, button, facts, fields, make, moment, run, sure, tell } from "./console-parts.js";

const CARDS = ["account", "sessions", "methods", "transaction", "danger"];

let stage = null;
let told = null;
let user = null;

export function useAccount(all, callbacks) {
  stage = all;
  told = callbacks;
  for (const { id, name, kind } of stage.providers) {
    $("method-add").append(button(`Add ${name}`, () => stage.latchkey.linkIdentity(id, told.operator(kind))));
  }
}

export async function showAccount(known) {
  user = known;
  showProfile();
  for (const id of CARDS) $(id).hidden = false;
  await Promise.all([showSessions(), showMethods()]);
}

export function leaveAccount() {
  user = null;
  for (const id of CARDS) $(id).hidden = true;
}

const NAMES = {
  name: "Name", email: "Email", phone_number: "Phone number", postal_code: "Postal code", username: "Username",
};

function showProfile() {
  $("account-title").textContent = user.name ? `Hello, ${user.name}` : `You are user ${user.user_id}`;
  facts($("profile"), [
    ["User", String(user.user_id)],
    ...Object.entries(NAMES).map(([name, title]) => [title, shown(name)]),
    ["Public id", make("code", "", user.zenkey_sub)],
    ["Since", moment(user.created_at)],
  ]);
  setEditing(false);
}

/** A value of the profile, and whether a provider vouches for it. */
function shown(name) {
  return user[name] && user[name + "_verified"] ? [user[name], " ", make("span", "tag", "Verified")] : user[name];
}

function setEditing(isEditing) {
  $("profile").hidden = $("profile-actions").hidden = isEditing;
  $("profile-form").hidden = !isEditing;
}

$("edit").addEventListener("click", () => {
  const form = $("profile-form");
  for (const name of Object.keys(NAMES)) form.elements[name].value = user[name] ?? "";
  setEditing(true);
  form.elements.name.focus();
});

$("edit-cancel").addEventListener("click", () => {
  setEditing(false);
  $("edit").focus();
});

$("profile-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter, async () => {
    const all = fields(event.target);
    const changes = Object.fromEntries(Object.keys(NAMES).map((name) => [name, all[name] ?? null])
      .filter(([name, value]) => value !== (user[name] ?? null)));
    if (Object.keys(changes).length) user = await stage.latchkey.updateMe(changes);
    showProfile();
    tell("The profile is saved.");
    $("edit").focus();
  });
});

/** Reloads the list if a user is signed in, because sessions may have begun or ended elsewhere. */
export async function sessionsChanged() {
  if (user) await showSessions();
}

async function showSessions() {
  const sessions = await stage.latchkey.sessions();
  $("end-others").hidden = sessions.length < 2;
  $("session-list").replaceChildren(...sessions.map((session) => {
    const name = session.device ?? "An app";
    const end = button("End", async () => {
      await stage.latchkey.revokeSession(session.id);
      await showSessions();
      tell(`The session of ${name} has ended.`);
      $("sessions-title").focus();
    });
    end.setAttribute("aria-label",
      `End the session of ${name}, since ${new Date(session.created_at * 1000).toLocaleString()}`);
    return make("li", "",
      make("div", "", name, make("small", "", "Since ", moment(session.created_at), `, for ${session.client_id}`)),
      session.current ? make("span", "tag", "This session") : end);
  }));
}

$("sessions-title").tabIndex = -1;
$("methods-title").tabIndex = -1;

$("end-others").addEventListener("click", () => run($("end-others"), async () => {
  await stage.latchkey.fetch("/users/me/sessions", { method: "DELETE" }).then(checked);
  await showSessions();
  tell("All other sessions have ended.");
  $("sessions-title").focus();
}));

async function checked(response) {
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error_description), answer, { status: response.status });
  return answer;
}

/** The display name of an issuer. */
function nameOf(issuer) {
  const end = issuer.split("/").pop();
  return told.operatorTitle(end) ?? stage.carriers.find(({ mccmnc }) => mccmnc === end)?.name
    ?? stage.providers.find(({ id }) => id === end || issuer.includes(`//${id}.`))?.name ?? new URL(issuer).host;
}

async function showMethods() {
  const { identities } = await stage.latchkey.fetch("/users/me/identities").then(checked);
  $("method-list").replaceChildren(...identities.map((identity) => {
    const name = nameOf(identity.issuer);
    const away = button("Remove", async () => {
      const words = "You can no longer sign in with it. Sessions stay.";
      if (!await sure(`Remove ${name}?`, words, "Remove it")) return;
      await stage.latchkey.fetch("/users/me/identities/" + encodeURIComponent(identity.id), { method: "DELETE" })
        .then(checked);
      await showMethods();
      tell(`${name} is removed.`);
      $("methods-title").focus();
    });
    away.setAttribute("aria-label", `Remove ${name}`);
    return make("li", "", make("div", "", name, make("small", "", identity.issuer)), away);
  }));
}

$("erase").addEventListener("click", () => run($("erase"), async () => {
  if (!await sure("Erase the account?", "All its data is deleted. You cannot undo it.", "Erase it")) return;
  await stage.latchkey.fetch("/users/me", { method: "DELETE" }).then(checked);
  told.erased();
}));
