"""Whether everybody can use a page, as far as a program can see; written for these pages, after what axe looks for."""
import pathlib

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
// Where a label's frame shows the focus of what is in it.
const frame = element.closest("label") ? getComputedStyle(element.closest("label")) : null;
const isSeen = [[outlineStyle, outlineWidth], [frame?.outlineStyle, frame?.outlineWidth]]
  .some(([style, width]) => style && style !== "none" && parseFloat(width) >= 2);
return [focusable.indexOf(element), isSeen, element.outerHTML.slice(0, 80)];
"""


def check(browser, what):
    """Looks for faults, in the page as it is now."""
    faults = browser.run(SCRIPT)
    assert not faults, f"{what}:\n  " + "\n  ".join(faults)


def check_focus(browser, what):
    """Tab goes through all controls in the order in which they are read, and one sees where it is."""
    count = browser.run(FOCUSABLE)
    assert count, f"{what}: nothing can be focused"
    # The browser begins where one has clicked last; the page's beginning has to be asked for.
    browser.run("const start = document.body; start.tabIndex = -1; start.focus(); start.removeAttribute('tabindex');")
    seen = []
    for _ in range(count):
        browser.press(TAB)
        found = browser.run(FOCUSED)
        assert found, f"{what}: the focus is lost after {len(seen)} of {count}"
        index, is_visible, html = found
        if index < 0:
            continue  # What scrolls can be focused, too.
        assert is_visible, f"{what}: one does not see that {html} has the focus"
        seen.append(index)
    assert seen == sorted(seen) and seen[:1] == [0], f"{what}: the focus goes {seen}"
    assert len(seen) >= count - 3, f"{what}: Tab reaches {len(seen)} of {count}"


def check_weight(browser, what):
    weight = browser.run(WEIGHT)
    assert weight["files"] < HEAVIEST and weight["sent"] < HEAVIEST, f"{what}: {weight}"
    return weight
