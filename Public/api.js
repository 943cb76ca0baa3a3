// Renders openapi.json. Nothing in it is interpreted as HTML: every text becomes a text node.

const main = document.getElementById("api");

/** An element with classes and children: a string becomes a text node, null is skipped. */
function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Formats a description: paragraphs, `code` and **strong**. */
function prose(text) {
  return (text ?? "").split(/\n\n+/).filter(Boolean).map((paragraph) => make("p", "", ...inline(paragraph)));
}

function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).filter(Boolean).map((part) => {
    if (part.startsWith("`")) return make("code", "", part.slice(1, -1));
    if (part.startsWith("**")) return make("strong", "", part.slice(2, -2));
    return part;
  });
}

/** Resolves a reference within the document; returns any other value unchanged. */
function resolve(api, value) {
  if (!value?.$ref) return value;
  return value.$ref.slice(2).split("/").reduce((found, name) => found?.[name], api);
}

/** Describes the type of a value. */
function kind(api, schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return `always ${JSON.stringify(schema.const)}`;
  if (schema.enum) return schema.enum.join(" · ");
  if (schema.anyOf && !schema.type) return schema.anyOf.map((choice) => kind(api, choice)).join(" or ");
  const types = [schema.type ?? "anything"].flat();
  const text = types.map((type) => (type === "array" ? `list of ${kind(api, schema.items ?? {})}` : type)).join(" or ");
  const limits = [
    schema.maxLength !== undefined ? `${schema.minLength ?? 0}–${schema.maxLength} characters` : null,
    schema.minimum !== undefined ? `from ${schema.minimum}` : null,
  ].filter(Boolean);
  return limits.length ? `${text}, ${limits.join(", ")}` : text;
}

/** The schemas of objects within a schema. */
function objects(api, schema) {
  const found = resolve(api, schema) ?? {};
  if (found.properties) return [found];
  return [...(found.anyOf ?? []), ...(found.items ? [found.items] : [])].flatMap((part) => objects(api, part));
}

function row(...cells) {
  return make("tr", "", ...cells.map((cell) => make("td", "", ...[cell].flat())));
}

function table(heads, rows) {
  const head = make("thead", "", make("tr", "", ...heads.map((text) => {
    const cell = make("th", "", text);
    cell.scope = "col";
    return cell;
  })));
  return make("div", "scroll", make("table", "members", head, make("tbody", "", ...rows)));
}

/** The rows of an object's fields, including nested objects. */
function fieldRows(api, schema, prefix = "", depth = 0) {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix + name;
    const whole = resolve(api, field) ?? {};
    const words = field.description ?? whole.description;
    const must = (schema.required ?? []).includes(name) ? make("span", "must", " required") : null;
    const own = row([make("code", "", path), must], make("span", "quiet", kind(api, field)), prose(words));
    const inner = depth < 2 ? objects(api, field) : [];
    const isList = [whole.type].flat().includes("array");
    return [own, ...inner.flatMap((part) => fieldRows(api, part, `${path}${isList ? "[]" : ""}.`, depth + 1))];
  });
}

function fields(api, schema) {
  const rows = objects(api, schema).flatMap((part) => fieldRows(api, part));
  return rows.length ? table(["Field", "Type", "Meaning"], rows) : null;
}

function example(title, value) {
  if (value === undefined) return null;
  const code = make("code", "", typeof value === "string" ? value : JSON.stringify(value, null, 2));
  const block = make("pre", "", code);
  block.tabIndex = 0;
  return make("details", "more", make("summary", "", title), block);
}

function parameters(api, call) {
  if (!call.parameters?.length) return [];
  const rows = call.parameters.map((item) => row(
    [make("code", "", item.name), item.required ? make("span", "must", " required") : null],
    make("span", "quiet", `${item.in}: ${kind(api, item.schema)}`), prose(item.schema.description)));
  return [make("h3", "", "Parameters"), table(["Name", "Type", "Meaning"], rows)];
}

function body(api, call) {
  if (!call.requestBody) return [];
  const types = Object.keys(call.requestBody.content);
  const media = call.requestBody.content[types[0]];
  return [
    make("h3", "", "Body"),
    make("p", "quiet", types.join(" or ")),
    fields(api, media.schema),
    example("Example", media.example),
  ];
}

function responses(api, call) {
  const all = Object.entries(call.responses).map(([status, response]) => [status, resolve(api, response)]);
  const good = all.filter(([status]) => status < "400").flatMap(([status, response]) => {
    const media = Object.values(response.content ?? {})[0];
    const headers = Object.keys(response.headers ?? {})
      .filter((name) => !["X-Request-Id", "Cache-Control"].includes(name));
    return [
      make("h3", "", `Response ${status}`),
      ...prose(response.description),
      headers.length ? make("p", "quiet", `Headers: ${headers.join(", ")}`) : null,
      media ? fields(api, media.schema) : null,
      media ? example("Example", media.example) : null,
    ];
  });
  const rows = all.filter(([status]) => status >= "400").map(([status, response]) => {
    const examples = Object.values(Object.values(response.content ?? {})[0]?.examples ?? {});
    const shown = examples.map((item) => resolve(api, item)?.value).filter(Boolean);
    return row(make("code", "", status), [...inline(response.description)],
      shown.map((value) => make("p", "quiet", value.error_description ?? "")));
  });
  return [...good, make("details", "more", make("summary", "", `Errors: ${rows.length} statuses`),
    table(["Status", "Errors", "Examples"], rows))];
}

function access(api, call) {
  const names = {
    apiKey: "an API key", allowedOrigin: "an allowed origin", session: "a session token",
    sessionCookie: "a browser’s session cookie", refreshCookie: "a browser’s refresh cookie",
    ownPage: "a page of this server", notificationToken: "a notification token",
  };
  const ways = (call.security ?? []).map((way) => Object.keys(way).map((name) => names[name] ?? name).join(" and "));
  return make("p", "quiet", ways.length ? `Needs ${ways.join(", or ")}.` : "Needs no key.");
}

function operation(api, path, method, call) {
  const section = make("details", "call",
    make("summary", "", make("span", `method ${method}`, method.toUpperCase()), make("code", "path", path),
      make("span", "says", call.summary)),
    make("div", "", ...prose(call.description), access(api, call), ...parameters(api, call), ...body(api, call),
      ...responses(api, call)));
  section.id = call.operationId;
  section.dataset.words = `${method} ${path} ${call.summary} ${call.operationId}`.toLowerCase();
  return section;
}

function accessWays(api) {
  const rows = Object.values(api.components?.securitySchemes ?? {}).map((scheme) => row(
    make("code", "", scheme.type === "http" ? `Authorization: ${scheme.scheme === "bearer" ? "Bearer" : scheme.scheme}`
      : `${scheme.in === "cookie" ? "Cookie" : scheme.name}${scheme.in === "cookie" ? `: ${scheme.name}` : ""}`),
    prose(scheme.description)));
  return table(["Sent as", "Meaning"], rows);
}

function show(api) {
  document.title = `The API · ${api.info.title}`;
  const calls = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, call]) => ({ path, method, call })));
  const groups = api.tags.map(({ name }) => {
    const heading = make("h2", "", name);
    heading.id = name.toLowerCase().replaceAll(" ", "-");
    const own = calls.filter(({ call }) => call.tags.includes(name));
    return make("section", "", heading, ...own.map(({ path, method, call }) => operation(api, path, method, call)));
  });
  const links = groups.map((group) => {
    const heading = group.firstElementChild;
    const link = make("a", "", heading.textContent);
    link.href = `#${heading.id}`;
    return make("li", "", link);
  });
  const nav = make("nav", "", make("ul", "", ...links));
  nav.setAttribute("aria-label", "Groups of calls");
  const keys = make("section", "", make("h2", "", "Keys and sessions"), accessWays(api));
  main.replaceChildren(...prose(api.info.description), nav, finder(groups), keys, ...groups);
  main.removeAttribute("aria-busy");
  open();
}

/** A search field: shows the calls that contain all its words, or says that none does. */
function finder(groups) {
  const said = make("p", "none", "");
  said.setAttribute("role", "status");
  const input = make("input", "");
  input.type = "search";
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const group of groups) {
      const own = [...group.querySelectorAll("details.call")];
      for (const call of own) call.hidden = !words.every((word) => call.dataset.words.includes(word));
      group.hidden = own.every((call) => call.hidden);
    }
    said.textContent = groups.every((group) => group.hidden)
      ? `No call has “${input.value.trim()}” in its path or summary. Fewer words find more.` : "";
  });
  return make("div", "", make("label", "find", "Find a call", input), said);
}

/** Opens the call that the address names. */
function open() {
  const call = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (call instanceof HTMLDetailsElement) call.open = true;
  call?.scrollIntoView();
}

addEventListener("hashchange", open);

try {
  const response = await fetch("openapi.json");
  if (!response.ok) throw new Error(`the server responded with ${response.status}`);
  show(await response.json());
} catch (error) {
  main.replaceChildren(make("p", "problem", `Cannot show openapi.json: ${error.message}. Reload the page.`));
  main.removeAttribute("aria-busy");
}
