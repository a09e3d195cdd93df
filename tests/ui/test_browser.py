"""The studio in a real browser: every step, every kind of refusal, and what must never be spent twice."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import sfumato as sf

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser installs it")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="no chromium with its chromedriver is found: make test-browser installs them",
)
SECONDS = 30  # to wait for what must come
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


PATCHED = """
import sys, time
from sfumato.release import Release
from sfumato.cli import main
def stuck(*_, **__):
    print("stuck", flush=True)
    time.sleep(600)
Release.save = stuck
main()
"""


@contextmanager
def served(*arguments, code=None):
    """A studio of its own process: the process and its address."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "sfumato"]), "studio", "--no-browser", *arguments]
    env = {**os.environ, "PYTHONPATH": str(Path(sf.__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.kill()


class Page:
    """The page as a person uses it."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get(address)
        driver.get_log("browser")  # of pages before
        self.wait("return document.documentElement.dataset.ready === 'yes'")

    def __getitem__(self, id):
        return self.driver.find_element("id", id)

    def wait(self, script, *arguments):
        until = time.monotonic() + SECONDS
        while not (found := self.driver.execute_script(script, *arguments)):
            assert time.monotonic() < until, f"waited in vain for: {script} {arguments}\n{self.text()}"
            time.sleep(0.03)
        return found

    def text(self):
        return self.driver.find_element("tag name", "main").text

    def says(self, id, words):
        script = (
            "const e = document.getElementById(arguments[0]); return !e.hidden && e.textContent.includes(arguments[1])"
        )
        self.wait(script, id, words)

    def pick(self, name, value):
        self.driver.find_element("css selector", f"input[name={name}][value={value}]").click()

    def fill(self, id, text):
        """Typed over what is there, and left with the tabulator."""
        self.driver.execute_script("arguments[0].select?.()", self[id])
        self[id].send_keys(text or "\ue017", "\ue004")

    def plan(self, settled="will be spent", **changes):
        """All five steps up to the confirmation."""
        self.pick("who", "unit")
        given = {"unit": "one wing", "file": "wings.tps", "n": "120", "epsilon": "1", "out": "mean.json", **changes}
        self.pick("how", "center")
        for id, text in {"center": "reference.tps", "radius": "0.2", **given}.items():
            self.fill(id, text)
        self.says("means", "Error up to")
        self.says("spend", settled)

    def release(self, confirm="release"):
        self["confirm"].send_keys(confirm)
        self["do"].click()

    def complaints(self):
        """What the browser itself complains of: a broken script, a blocked request."""
        return [entry["message"] for entry in self.driver.get_log("browser") if "422" not in entry["message"]]


def charges():
    return [entry for entry in sf.Ledger("study.ledger").verify().entries if entry.kind == "charge"]


def test_from_a_file_to_a_report_and_never_charged_twice(studio_folder, driver):
    with served("wings.tps", "--ledger", "study.ledger") as (process, address):
        page = Page(driver, address)
        assert not page["file"].is_enabled()  # whom to protect is asked first
        page.pick("who", "unit")
        page.fill("unit", "one wing")
        assert page["file"].get_property("value") == "wings.tps"
        page["inspect"].click()
        page.says("seen", "120 records of 8 landmarks")
        assert "For the curator's eyes only" in page["seen"].text
        assert page["n"].get_property("value") == "120"
        page.pick("how", "center")
        page.fill("center", "reference.tps")
        page.fill("radius", "0.2")
        page.says("known-picture", "12 made-up records")
        page.says("blur-picture", "4 releases")
        page.says("means", "e^1 = 2.72")
        page.says("left", "3 of 3 is left")
        before = page["means"].text
        page.wait("return document.querySelector('#curve-picture .mark')")
        page["epsilon-range"].send_keys("\ue014" * 30)  # to the right, by the keyboard
        page.wait("return document.getElementById('means').textContent !== arguments[0]", before)
        assert float(page["epsilon"].get_property("value")) > 1
        page.fill("epsilon", "1")
        page.says("spend", "ε = 1 will be spent on the mean of 120 records of wings.tps, to protect one wing")
        page.says("spend", "3 now, 2 afterwards")
        assert not charges()
        page.release("1")
        page.says("home", "Released: ε = 1")
        assert len(charges()) == 1
        page.wait("return document.querySelector('#taken img').naturalWidth > 100")
        assert "sfumato release wings.tps --center reference.tps" in page["home"].text
        links = driver.find_elements("css selector", "#taken a.button")
        assert {"Report (HTML)", "Record (JSON)", "Value (TPS)", "Picture (PNG)"} <= {link.text for link in links}
        report = "return fetch(arguments[0]).then(a => a.text())"
        report = driver.execute_script(report, next(x.get_property("href") for x in links if "Report" in x.text))
        assert "What is promised" in report

        driver.refresh()  # a reload after the release
        page.says("home", "Released: ε = 1")
        page.says("spend", "released already")
        page.release()
        page.says("home", "Released: ε = 1")
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")  # a second tab, which knows of it
        tab = Page(driver, address)
        tab.says("home", "Released: ε = 1")
        tab.plan(settled="released already")
        tab.release()
        tab.says("home", "Released: ε = 1")
        driver.close()
        driver.switch_to.window(first)
        assert len(charges()) == 1
        own = "return performance.getEntriesByType('resource').map(e => e.name)"
        assert all(name.startswith((address, "data:")) for name in driver.execute_script(own))
        assert page.complaints() == []
        page["stop"].click()
        page.says("gone", "has stopped, as you told it")
        assert process.wait(SECONDS) == 0


def test_a_tab_left_behind_cannot_release_again(studio_folder, driver):
    with served("wings.tps", "--ledger", "study.ledger") as (_, address):
        page = Page(driver, address)
        page.plan()
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        tab = Page(driver, address)
        tab.plan(out="other.json", epsilon="0.5")
        tab.release()
        tab.says("home", "Released: ε = 0.5")
        driver.close()
        driver.switch_to.window(first)
        page.release()
        page.says("release-refusal", "perhaps in another tab")
        assert len(charges()) == 1


@pytest.mark.useful
def test_refusals_are_shown_where_they_belong_and_cost_nothing(studio_folder, driver):
    Path("twice.tps").write_text(Path("wings.tps").read_text().replace("ID=1\n", "ID=0\n"))
    with served("--ledger", "study.ledger") as (_, address):
        page = Page(driver, address)
        page.pick("who", "unit")
        page.fill("file", "gone.tps")
        page["inspect"].click()
        page.says("data-refusal", "gone.tps")
        page.pick("how", "center")
        page.fill("center", "gone.tps")
        page.fill("radius", "0.2")
        page.says("known-refusal", "there is no such file")
        page.plan(file="twice.tps")
        page.fill("radius", "2")
        page.says("blur-refusal", "needs a radius below")
        page.fill("radius", "0.2")
        page.says("blur-picture", "4 releases")
        for change, confirm, words in (
            ({}, "yes", "type the word release"),
            ({"epsilon": "4"}, "release", "only 3 of 3 is left"),
            ({"epsilon": "1", "n": "100"}, "release", "“a column says whose record it is”"),
            ({"n": "120", "file": "wings.tps", "epsilon": "0.03"}, "release", "tick “release even if useless”"),
            ({"epsilon": "1", "n": "99"}, "release", "set n to 120"),
            ({"n": "120", "out": "reference.tps"}, "release", "would replace"),
        ):
            for id, text in change.items():
                page.fill(id, text)
            page.driver.execute_script("document.getElementById('confirm').value = ''")
            page.release(confirm)
            page.says("release-refusal", words)
            assert page["useless-field"].is_displayed() == ("useless" in words)
        page.fill("file", "twice.tps")
        page["inspect"].click()
        page.says("seen", "Does it say whose record it is?")
        page.driver.find_element("css selector", "#seen button").click()
        page.says("seen", "n is set to 119")
        assert page["unit_column"].get_property("value") == "ID"
        assert not charges()
        assert page.complaints() == []


def test_a_server_killed_half_way_spends_nothing_twice(studio_folder, driver):
    with served("wings.tps", "--ledger", "study.ledger", code=PATCHED) as (process, address):
        page = Page(driver, address)
        page.plan()
        page.release()
        while "stuck" not in process.stdout.readline():  # charged, drawn, not yet written
            pass
        process.send_signal(signal.SIGKILL)
        page.says("gone", "has stopped")
    assert len(charges()) == 1
    assert not Path("mean.json").exists()
    with served("wings.tps", "--ledger", "study.ledger") as (_, address):
        page = Page(driver, address)
        page.says("left", "2 of 3 is left")
        page.says("left", "no release is noted for it: line 2")
        page.says("home", "Nothing was released yet")
        assert len(charges()) == 1
        page.plan()
        page.release()
        page.says("home", "Released: ε = 1")
    assert len(charges()) == 2  # confirmed anew
    with served("wings.tps", "--ledger", "study.ledger") as (_, address):  # killed once all was written: it is there
        page = Page(driver, address)
        page.plan()
        page.release()
        page.says("release-refusal", "exists already")
        page["open"].click()
        page.says("home", "Released: ε = 1")
    assert len(charges()) == 2


def test_a_server_killed_before_the_charge_spends_nothing(studio_folder, driver):
    with served("wings.tps", "--ledger", "study.ledger") as (process, address):
        page = Page(driver, address)
        page.plan()
        lock = sqlite3.connect("study.ledger", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        page.release()
        page.says("progress", "Charging the ledger")
        process.send_signal(signal.SIGKILL)
        page.says("gone", "has stopped")
        lock.close()
    assert not charges()
    assert not Path("mean.json").exists()


class Evil(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>evil</title>")

    def log_message(self, *_):
        pass


SPEND = """
const [url, plan, done] = arguments;
const body = JSON.stringify({choices: plan, confirm: "release", seen: 0});
const post = more => fetch(url + "api/release", {method: "POST", body, ...more});
const tries = [fetch(url + "api/state").then(a => a.text()), post({mode: "no-cors"}).then(a => a.type),
  post({headers: {"Content-Type": "application/json"}}).then(a => a.text())];
Promise.allSettled(tries).then(all => done(all.map(a => a.value || a.status)));
"""


def test_a_page_of_another_origin_can_neither_read_nor_spend(studio_folder, driver):
    """Even one that knows the secret address."""
    plan = {"file": "wings.tps", "unit": "one wing", "center": "reference.tps", "radius": 0.2, "n": 120, "epsilon": 1}
    plan |= {"ledger": "study.ledger"}
    evil = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    try:
        with served("wings.tps", "--ledger", "study.ledger") as (_, address):
            driver.get(f"http://127.0.0.1:{evil.server_port}/")
            assert driver.execute_async_script(SPEND, address, plan) == ["rejected"] * 3
            driver.get(address.replace(address.split("/")[3], "x" * 43))  # nor does a wrong token
            assert "not the address of the studio" in driver.page_source
            assert not charges()
            own = Page(driver, address)  # the same request from the page itself goes through: the test has power
            read, _, spent = driver.execute_async_script(SPEND, address, plan)
            assert "wings.tps" in read
            assert '"id"' in spent
            own.wait("return fetch('api/state').then(a => a.json()).then(s => s.releases[0].done)")
            assert len(charges()) == 1
    finally:
        evil.shutdown()
        evil.server_close()


CONTRAST = """
const light = x => (x /= 255) <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
const lum = c => .2126 * light(c[0]) + .7152 * light(c[1]) + .0722 * light(c[2]);
const rgb = s => (s.match(/[0-9.]+/g) || []).map(Number);
const bad = [];
for (const e of document.querySelectorAll("body *")) {
  if (!e.offsetParent || e.closest(":disabled, svg")) continue;
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
  let back = e, colour;
  do { colour = rgb(getComputedStyle(back).backgroundColor); back = back.parentElement; } while (back && colour[3] === 0);
  const [a, b] = [lum(rgb(getComputedStyle(e).color).slice(0, 3)), lum(colour.slice(0, 3))];
  if ((Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5) bad.push(e.outerHTML.slice(0, 80));
}
return bad;
"""
UNNAMED = """
const named = e => e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim() || e.alt || e.id === "chooser";
const every = [...document.querySelectorAll("input, select, button, svg, img")];
return every.filter(e => !named(e)).map(e => e.outerHTML.slice(0, 80));
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_everybody_can_use_it(studio_folder, driver, width):
    """Names for screen readers, contrast AA, nothing wider than a phone, and a file that is dropped."""
    with served() as (_, address):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            page = Page(driver, address)
            page.pick("who", "unit")
            dropped = """
            const dataTransfer = new DataTransfer(); dataTransfer.items.add(new File([arguments[0]], "dropped.tps"));
            const drop = new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true});
            document.getElementById("data").dispatchEvent(drop);
            """
            driver.execute_script(dropped, Path("wings.tps").read_text())
            page.wait("return document.getElementById('file').value.endsWith('dropped.tps')")
            page["inspect"].click()
            page.says("seen", "120 records of 8 landmarks")
            page.plan(file=page["file"].get_property("value"), ledger="study.ledger")
            page.release()
            page.says("home", "Released: ε = 1")
            assert driver.execute_script(CONTRAST) == []
            assert driver.execute_script(UNNAMED) == []
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
            assert page.complaints() == []
        finally:
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
