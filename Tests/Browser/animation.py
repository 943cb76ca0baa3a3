#!/usr/bin/env python3
"""Makes the README's picture, an animation of a sign-in at a running demonstration; see scripts/browser.

    Tests/Browser/animation.py --latchkey-dev .build/debug/latchkey-dev --pictures FOLDER

It writes FOLDER/sign-in.gif. Before each click the button that will be clicked has the focus, so that a reader sees it.
"""
import argparse
import pathlib
import shutil

from PIL import Image

from demonstration import demonstration, free_port
from webdriver import Browser

SIZE = (1280, 900)


class Animation:
    def __init__(self, browser, folder):
        self.browser, self.folder, self.frames = browser, folder, []
        browser.pretend(SIZE)
        browser.devtools("Emulation.setScrollbarsHidden", hidden=True)

    def frame(self, seconds):
        self.browser.wait("rest", lambda: not self.browser.run("return document.getAnimations().length"))
        path = self.folder / f"frame-{len(self.frames) + 1}.png"
        self.browser.picture(path)
        self.frames.append((path, seconds))

    def click(self, selector, seconds):
        self.browser.find(selector)
        self.browser.run("document.querySelector(arguments[0]).focus({focusVisible: true})", selector)
        self.frame(seconds)
        self.browser.click(selector)

    def sign_in(self, base):
        self.browser.go(base + "/")
        self.click("button.go[data-provider=zenkey]", 2.5)
        self.click("button[type=submit]", 1.5)
        self.browser.find("input[name=user]")
        self.click("button[type=submit]:not([formaction])", 2.5)
        for selector in ("#account", "#session-list li", "#method-list li"):
            self.browser.wait(selector, lambda: self.browser.sees(selector))
        self.browser.run("document.activeElement.blur(); document.getElementById('console').scrollIntoView();")
        self.frame(5)

    def save(self, path):
        """One palette for all frames, so that colors do not change between them."""
        pictures = [Image.open(frame).convert("RGB") for frame, _ in self.frames]
        together = Image.new("RGB", (SIZE[0], SIZE[1] * len(pictures)))
        for number, picture in enumerate(pictures):
            assert picture.size == SIZE, picture.size
            together.paste(picture, (0, SIZE[1] * number))
        palette = together.quantize(64, method=Image.Quantize.MEDIANCUT)
        first, *others = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
        first.save(path, save_all=True, append_images=others, loop=0, optimize=True,
                   duration=[int(seconds * 1000) for _, seconds in self.frames])
        with Image.open(path) as written:
            assert (written.n_frames, written.size) == (len(self.frames), SIZE), (written.n_frames, written.size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latchkey-dev", required=True)
    parser.add_argument("--pictures", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    driver = shutil.which("chromedriver")
    if not driver:
        raise SystemExit("browser: chromedriver is missing; run scripts/setup --browser")
    with demonstration(arguments.latchkey_dev) as demo, Browser(driver, free_port(), SIZE) as browser:
        animation = Animation(browser, arguments.pictures)
        animation.sign_in(demo.base)
        animation.save(arguments.pictures / "sign-in.gif")
    print(f"browser: {arguments.pictures / 'sign-in.gif'} shows a sign-in")


if __name__ == "__main__":
    main()
