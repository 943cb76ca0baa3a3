"""Accessibility checks: the rules of axe-core, and those of checks.js, which are stricter about these pages."""
import pathlib

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = (pathlib.Path(__file__).parent / "checks.js").read_text()
TAB = "\ue004"
HEAVIEST = 100_000

WEIGHT = """
const [page] = performance.getEntriesByType("navigation");
const files = performance.getEntriesByType("resource").filter(({ initiatorType }) => initiatorType !== "fetch");
return {
  files: [page, ...files].reduce((sum, entry) => sum + entry.decodedBodySize, 0),
  sent: [page, ...performance.getEntriesByType("resource")].reduce((sum, entry) => sum + entry.encodedBodySize, 0),
};
"""

FOCUSABLE = """
const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
window.focusable = [...document.querySelectorAll(
  "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
  .filter((element) => isShown(element) && !element.disabled && element.tabIndex === 0);
document.activeElement.blur();
scrollTo(0, 0);
return focusable.length;
"""

FOCUSED = """
const element = document.activeElement;
if (!element || element === document.body) return null;
const { outlineStyle, outlineWidth } = getComputedStyle(element);
// A label can show the focus of its control.
const frame = element.closest("label") ? getComputedStyle(element.closest("label")) : null;
const isSeen = [[outlineStyle, outlineWidth], [frame?.outlineStyle, frame?.outlineWidth]]
  .some(([style, width]) => style && style !== "none" && parseFloat(width) >= 2);
return [focusable.indexOf(element), isSeen, element.outerHTML.slice(0, 80)];
"""


# All rules of axe, those of good practice included; only the experimental ones are off.
AXE = """
const done = arguments[0];
axe.run(document, { resultTypes: ["violations"], elementRef: false }).then(
  ({ violations }) => done(violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ target, html }) => `axe: ${id} (${impact}): ${help}: ${target.join(" ")}: ${html.slice(0, 120)}`))),
  (error) => done([`axe: ${error}`]));
"""


def axe():
    """The source of axe-core."""
    found = list(ROOT.glob(".build/browser/lib/python3*/site-packages/axe_playwright_python/axe.min.js"))
    if not found:
        raise SystemExit("browser: axe-core is missing; run scripts/setup --browser")
    return found[0].read_text()


def check(browser, what):
    """Checks the current state of the page."""
    faults = browser.run(SCRIPT) + axe_faults(browser)
    assert not faults, f"{what}:\n  " + "\n  ".join(faults)


def axe_faults(browser):
    """Axe needs timers. The page was loaded without its scripts, and allowing them now runs none."""
    if not browser.scripts_allowed:
        browser.allow_scripts(True)
        try:
            return axe_faults(browser)
        finally:
            browser.allow_scripts(False)
    if not browser.run("return window.axe !== undefined"):
        browser.run(axe())
    return browser.call("POST", "/execute/async", {"script": AXE, "args": []})


def check_focus(browser, what):
    """Tab visits all controls in reading order, and the focus is visible."""
    count = browser.run(FOCUSABLE)
    assert count, f"{what}: no control can be focused"
    # The browser starts at the last click, so move the start to the beginning of the page.
    browser.run("const start = document.body; start.tabIndex = -1; start.focus(); start.removeAttribute('tabindex');")
    seen = []
    for _ in range(count):
        browser.press(TAB)
        found = browser.run(FOCUSED)
        assert found, f"{what}: the focus is lost after {len(seen)} of {count}"
        index, is_visible, html = found
        if index < 0:
            continue  # Scrollable elements can be focused, too.
        assert is_visible, f"{what}: the focus of {html} is not visible"
        seen.append(index)
    assert seen == sorted(seen) and seen[:1] == [0], f"{what}: the focus goes {seen}"
    assert len(seen) >= count - 3, f"{what}: Tab reaches {len(seen)} of {count}"


def check_weight(browser, what):
    weight = browser.run(WEIGHT)
    assert weight["files"] < HEAVIEST and weight["sent"] < HEAVIEST, f"{what}: {weight}"
    return weight
