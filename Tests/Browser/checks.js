// Checks the accessibility of a page. The script runs in the page and returns the list of faults; the list is empty
// if there are none. See checks.py.

const faults = [];
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

const isShown = (element) =>
  element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;

const called = (element) => {
  const id = element.id ? "#" + element.id : "";
  return `<${element.localName}${id}${element.className ? "." + String(element.className).split(" ")[0] : ""}> ` +
    `“${element.textContent.trim().slice(0, 40)}”`;
};

const words = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();

/** The accessible name, as far as these pages need the algorithm (accname 1.2). */
function nameOf(element) {
  if (element.hasAttribute("aria-labelledby")) return words(element.getAttribute("aria-labelledby"));
  if (element.hasAttribute("aria-label")) return element.getAttribute("aria-label").trim();
  if (element.labels?.length) {
    return [...element.labels].map((label) => {
      const copy = label.cloneNode(true);
      for (const inner of copy.querySelectorAll("input, select, textarea")) inner.remove();
      return copy.textContent;
    }).join(" ").trim();
  }
  return (element.textContent || element.title || element.alt || "").trim();
}

// The document.
if (!document.documentElement.lang) faults.push("the page does not state its language");
if (!document.title.trim()) faults.push("the page has no title");
for (const [what, selector, count] of [["main", "main", 1], ["h1", "h1", 1]]) {
  const found = all(selector).filter(isShown).length;
  if (found !== count) faults.push(`the page has ${found} ${what} elements instead of ${count}`);
}
for (const nav of all("nav")) {
  if (!nav.ariaLabel && !nav.hasAttribute("aria-labelledby")) faults.push("a nav has no name");
}
let level = 0;
for (const heading of all("h1, h2, h3, h4, h5, h6").filter(isShown)) {
  const own = Number(heading.localName[1]);
  if (own > level + 1) faults.push(`${called(heading)} skips a level after h${level}`);
  level = own;
}
const ids = all("[id]").map((element) => element.id);
for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) {
  faults.push(`the id ${id} is used twice`);
}
for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
  for (const element of all(`[${name}]`)) {
    for (const id of element.getAttribute(name).split(/\s+/)) {
      if (!document.getElementById(id)) faults.push(`${called(element)} refers to the id ${id}, which does not exist`);
    }
  }
}

// Landmarks: every text is in one.
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const texts = [];
while (walker.nextNode()) {
  const parent = walker.currentNode.parentElement;
  const isRead = !["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(parent.tagName);
  if (walker.currentNode.data.trim() && isRead && isShown(parent)) {
    texts.push([walker.currentNode, parent]);
  }
}
for (const [, parent] of texts) {
  if (!parent.closest("header, main, footer, nav, aside, dialog, .skip")) {
    faults.push(`${called(parent)} is not in a landmark`);
  }
}

// Controls.
const controls = all("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]")
  .filter(isShown);
for (const control of controls) {
  if (control.tabIndex > 0) faults.push(`${called(control)} has a positive tabindex`);
  if (!nameOf(control)) faults.push(`${called(control)} has no name`);
  const { width, height } = control.getBoundingClientRect();
  const isInText = control.localName === "a" && getComputedStyle(control).display === "inline";
  const isExempt = isInText || control.matches(".skip, [type=radio], [type=checkbox]");
  if (!isExempt && control.tabIndex >= 0 && (width < 24 || height < 24)) {
    faults.push(`${called(control)} is only ${Math.round(width)} by ${Math.round(height)} pixels`);
  }
}
const primary = all(".primary").filter(isShown).length;
if (primary > 1) faults.push(`the page has ${primary} primary buttons`);
for (const image of all("img, svg[role=img]")) {
  if (!image.hasAttribute("alt") && !nameOf(image)) faults.push(`${called(image)} has no alt`);
}
for (const element of all("*")) {
  const { order, flexDirection } = getComputedStyle(element);
  if (order !== "0" || flexDirection.endsWith("reverse")) {
    faults.push(`${called(element)} is shown in another order than it is read`);
  }
}

// Contrast (WCAG 2.2, 1.4.3 and 1.4.11).
const parse = (color) => {
  const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
  return [red, green, blue, alpha];
};
const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
const ground = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    layers.unshift(color);
    if (color[3] === 1) break;
  }
  const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
  return layers.reduce((below, color) => over(color, below), canvas);
};
const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
  .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
const ratio = (one, other) => {
  const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
};
for (const [, parent] of texts) {
  const below = ground(parent);
  const found = ratio(over(parse(getComputedStyle(parent).color), below), below);
  if (found < 4.5) faults.push(`${called(parent)} has a contrast of ${found.toFixed(2)}`);
}
const withEdge = all("input:not([type=hidden]):not([type=radio]):not([type=checkbox]), select, textarea");
for (const field of withEdge.filter(isShown)) {
  const around = ground(field.parentElement);
  const found = ratio(over(parse(getComputedStyle(field).borderTopColor), around), around);
  if (found < 3) faults.push(`the edge of ${called(field)} has a contrast of ${found.toFixed(2)}`);
  if (!field.placeholder) continue;
  const below = ground(field);
  const hint = ratio(over(parse(getComputedStyle(field, "::placeholder").color), below), below);
  if (hint < 4.5) faults.push(`the placeholder of ${called(field)} has a contrast of ${hint.toFixed(2)}`);
}

// Nothing is wider than the screen.
if (document.documentElement.scrollWidth > innerWidth) {
  faults.push(`the page is ${document.documentElement.scrollWidth - innerWidth} pixels too wide`);
  for (const element of all("body *").filter(isShown)) {
    if (element.getBoundingClientRect().right > innerWidth + 1 && !element.closest("pre, .skip, .unseen")) {
      faults.push(`${called(element)} extends beyond the right edge`);
    }
  }
}

return [...new Set(faults)];
