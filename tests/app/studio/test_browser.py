"""The studio in a real browser: every step, every kind of refusal, and what must never be spent twice."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
import pytest

import sfumato as sf
from sfumato.app.studio import server
from sfumato.app.studio.studio import Studio

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser installs it")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
BROWSERS = [*(["chromium"] if CHROMIUM and DRIVER else []), *(["firefox"] if FIREFOX else [])]
pytestmark = pytest.mark.skipif(
    not BROWSERS, reason="no chromium with its chromedriver and no firefox is found: make test-browser installs one"
)
WebDriverException = pytest.importorskip("selenium.common.exceptions").WebDriverException
SECONDS = 30  # to wait for what must come
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)


@contextmanager
def chromium(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


COMMANDS = {
    "newSession": "NewSession",
    "get": "Navigate",
    "clickElement": "ElementClick",
    "sendKeysToElement": "ElementSendKeys",
    "w3cExecuteScript": "ExecuteScript",
    "w3cExecuteScriptAsync": "ExecuteAsyncScript",
    "w3cGetCurrentWindowHandle": "GetWindowHandle",
    "close": "CloseWindow",
    "screenshot": "TakeScreenshot",
}


class Marionette:
    """Selenium's commands to Firefox over its own socket, as geckodriver would send them: Debian has no geckodriver."""

    def __init__(self, port):
        self.socket, self.sent = socket.create_connection(("127.0.0.1", port)), 0
        self.answers = self.socket.makefile("rb")
        self.answer()  # what it is

    def answer(self):
        length = b""
        while (digit := self.answers.read(1)) not in (b":", b""):
            length += digit
        return json.loads(self.answers.read(int(length)))

    def execute(self, command, given):
        name, self.sent = COMMANDS.get(command, command[0].upper() + command[1:]), self.sent + 1
        text = json.dumps([0, self.sent, f"WebDriver:{name}", {} if name == "NewSession" else given]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        error, found = self.answer()[2:]
        if error is not None:
            raise WebDriverException(f"{error['error']}: {error['message']}")
        return {"value": found["value"] if isinstance(found, dict) and found.keys() == {"value"} else found}

    def close(self):
        self.answers.close()
        self.socket.close()


@contextmanager
def firefox(profile):
    prefs = {"marionette.port": 0, "toolkit.legacyUserProfileCustomizations.stylesheets": True}
    (profile / "user.js").write_text(
        "".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in prefs.items())
    )
    (profile / "chrome").mkdir()
    (profile / "chrome" / "userChrome.css").write_text(":root { min-width: 0 !important; }")  # as narrow as a phone
    command = [FIREFOX, "--headless", "--no-remote", "--marionette", "--profile", str(profile), "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            noted, until = profile / "MarionetteActivePort", time.monotonic() + SECONDS
            while not (noted.exists() and noted.read_text()):
                assert time.monotonic() < until, "Firefox does not start"
                time.sleep(0.05)
            wire = Marionette(int(noted.read_text()))
            driver = webdriver.Remote(wire, options=webdriver.FirefoxOptions())
            driver.set_window_rect(0, 0, 1280, 900)
            yield driver
            wire.close()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Each browser, started once, when it is asked for."""
    with ExitStack() as stack:
        yield lru_cache(lambda name: stack.enter_context(globals()[name](tmp_path_factory.mktemp(name))))


@pytest.fixture
def driver(started):
    return started(BROWSERS[0])


@pytest.fixture(params=BROWSERS)
def each_driver(started, request):
    return started(request.param)


PATCHED = """
import sys, time
from sfumato.release import Release
from sfumato.app.cli import main
def stuck(*_, **__):
    print("stuck", flush=True)
    time.sleep(600)
Release.save = stuck
main()
"""


@contextmanager
def served(*arguments, code=None):
    """A studio of its own process: the process, and its address for the code that it printed."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "sfumato"]), "studio", "--no-browser", *arguments]
    env = {**os.environ, "PYTHONPATH": str(Path(sf.__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            door, code = process.stdout.readline().split()[-1], process.stdout.readline().split()[-1]
            form = urlencode({"code": code}).encode()
            with urlopen(Request(door, form, {"Origin": "null"})) as answer:
                yield process, answer.headers["Refresh"].removeprefix("0; url=")
        finally:
            process.kill()


@contextmanager
def beside(file="", ledger=""):
    """A studio within this process, which starts at once: its address."""
    with socket.socket() as own:
        own.bind((server.HOST, 0))
        own.listen()
        studio = Studio(file, ledger)
        guard = server.make_app(lambda: studio, lambda: None, own.getsockname()[1], print)
        runs = server.uvicorn.Server(server.uvicorn.Config(guard, lifespan="off", ws="none", log_level="warning"))
        thread = threading.Thread(target=runs.run, kwargs={"sockets": [own]})
        thread.start()
        try:
            yield guard.address
        finally:
            runs.should_exit = True
            thread.join()
            studio.wait()


@contextmanager
def as_wide_as(driver, width):
    """The page in a window of this width, such as a phone's."""

    def resize(wide):
        if driver.caps["browserName"] == "firefox":
            driver.set_window_rect(0, 0, wide, 900)
        else:
            size = {"width": wide, "height": 800, "deviceScaleFactor": 1, "mobile": wide < 500}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    resize(width)
    try:
        yield
    finally:
        resize(1280)


class Page:
    """The page as a person uses it."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get(address)
        self.complaints()  # of pages before
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
        """By the keyboard: a picture that is drawn meanwhile moves the button."""
        self["confirm"].send_keys(confirm, "\ue007")

    def complaints(self):
        """What the browser itself complains of, a broken script or a blocked request, where it says it."""
        log = self.driver.get_log("browser") if hasattr(self.driver, "get_log") else []
        return [entry["message"] for entry in log if "422" not in entry["message"]]


def charges():
    return [entry for entry in sf.Ledger("study.ledger").verify().entries if entry.kind == "charge"]


def test_from_a_file_to_a_report_and_never_charged_twice(studio_folder, each_driver):
    driver = each_driver
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
        assert "sfumato release wings.tps --unit 'one wing' --center reference.tps" in page["home"].text
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


def test_leave_that_was_given_for_other_records_counts_no_more(studio_folder, driver):
    Path("twice.tps").write_text(Path("wings.tps").read_text().replace("ID=1\n", "ID=0\n"))
    with beside("twice.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(file="twice.tps")
        page["inspect"].click()
        page.says("seen", "Does it say whose record it is?")
        page.driver.find_element("xpath", "//button[contains(., 'No: each record by itself')]").click()
        page.pick("what", "groups")
        page.fill("by", "sex")
        page["labels_are_public"].click()
        ticked = "return ['alone', 'labels_are_public'].map(id => document.getElementById(id).checked)"
        assert driver.execute_script(ticked) == [True, True]
        page.fill("by", "diagnosis")
        assert driver.execute_script(ticked) == [True, False]
        page["labels_are_public"].click()
        page.fill("unit", "one animal")
        assert driver.execute_script(ticked) == [False, True]
        page.fill("file", "wings.tps")
        assert driver.execute_script(ticked) == [False, False]
        page.pick("what", "mean")
        page.fill("file", "twice.tps")
        page.says("spend", "will be spent")
        page.release()
        page.says("release-refusal", "“a column says whose record it is”")
        assert not charges()


def test_numbers_as_people_type_them(studio_folder, driver):
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(epsilon="0,5", radius="0,2")
        page.says("spend", "ε = 0.5 will be spent")
        page.says("means", "In the ledger: 3 is left.")
        page.fill("epsilon", "0")
        page.says("release-refusal", "psilon")
        assert page["spend"].text == ""
        page.fill("epsilon", "1")
        page.says("spend", "ε = 1 will be spent")
        assert not page["release-refusal"].is_displayed()
        page.fill("radius", "")
        page.says("means", "Give the radius too")
        page.says("spend", "what is publicly known (step 2)")
        page.fill("radius", "0.2")
        page.fill("out", "reference.tps")
        page.says("spend", "reference.tps exists already")


def test_a_refusal_that_comes_late_is_not_shown(studio_folder, driver):
    late = """
        const fetched = window.fetch;
        window.fetch = async (...given) => {
          if (String(given[0]).includes("api/plan") && given[1].body.includes('"epsilon":"0"')) {
            await new Promise(resolve => setTimeout(resolve, 1500));
            setTimeout(() => { window.late = true; }, 300);
          }
          return fetched(...given);
        };"""
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan()
        driver.execute_script(late)
        page.fill("epsilon", "0")
        page.fill("epsilon", "0.5")
        page.says("spend", "ε = 0.5 will be spent")
        page.wait("return window.late")
        page.says("spend", "ε = 0.5 will be spent")
        assert not page["release-refusal"].is_displayed()


def test_a_tab_left_behind_cannot_release_again(studio_folder, driver):
    with beside("wings.tps", "study.ledger") as address:
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


def test_groups_in_a_few_clicks(studio_folder, driver):
    Path("sexes.csv").write_text("\n".join(["ID,sex", *(f"{i},{'mf'[i % 3 == 0]}" for i in range(120))]) + "\n")
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(epsilon="3")
        page.pick("what", "groups")
        page.says("spend", "the column of the groups")
        page.fill("by", "sex")
        page.fill("labels", "sexes.csv")
        page["inspect"].click()
        page.says("seen", "By sex the groups are f (40), m (80).")
        assert page["smallest"].get_property("value") == "40"
        page.says("means", "Two groups of 40 would be told apart in 8 of 10 studies")
        page.says("spend", "whether everybody may know the groups")
        page["labels_are_public"].click()
        page.says("spend", "on the means of the groups of sex among 120 records")
        assert page["out"].get_property("value") == "comparison.json"
        page.release("3")
        page.says("home", "f (40), m (80), whose groups and sizes are public")
        page.says("home", "sfumato compare wings.tps --by sex --labels sexes.csv --labels-are-public")
        page.wait("return document.querySelector('#taken img').naturalWidth > 100")
        driver.refresh()
        page.says("spend", "released already")
        assert len(charges()) == 1
        assert page.complaints() == []


def test_regions_that_are_found_and_symmetric_specimens(studio_folder, driver):
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.plan(radius="0.4")
        for find, words in (("radius", "within 0.1 of the centre"), ("ball", "within 0.1 of some point")):
            driver.find_element("css selector", f"#find option[value={find}]").click()
            page.says("means", words)
            page.says("spend", words)
            assert not page["prior"].is_displayed()
        page.fill("symmetric", "2-9")
        page.says("known-refusal", "there are 8 landmarks")
        page.fill("symmetric", "2-8,3-7,4-6")
        page.says("spend", "will be spent")
        page.release()
        page.says("home", "Released: ε = 1")
        page.says("home", "--center reference.tps --prior 0.4 --symmetric 2-8,3-7,4-6")
        page.pick("how", "prior")
        page.says("known-refusal", "Say in step 1 what the records are")
        page["inspect"].click()
        page.says("known-refusal", "has no ball that surely holds all records")
        page.pick("wide", "range")
        page.fill("low", "0.1")
        page.fill("high", "10")
        page.says("known-refusal", "0.1:10")
        assert len(charges()) == 1
        assert page.complaints() == []


def test_refusals_are_shown_where_they_belong_and_cost_nothing(studio_folder, driver):
    Path("twice.tps").write_text(Path("wings.tps").read_text().replace("ID=1\n", "ID=0\n"))
    with beside(ledger="study.ledger") as address:
        page = Page(driver, address)
        page.pick("who", "unit")
        page.fill("file", "gone.tps")
        page["inspect"].click()
        page.says("data-refusal", "gone.tps")
        page.pick("how", "center")
        page.fill("center", "gone.tps")
        page.fill("radius", "0.2")
        page.says("known-refusal", "there is no such file")
        driver.find_element(
            "xpath", "//select[@id='mechanism']/option[.='laplace']"
        ).click()  # which is planned at once
        page.plan(file="twice.tps")
        page.fill("radius", "2")
        page.says("blur-refusal", "needs a radius below")
        page.fill("radius", "0.2")
        page.says("blur-picture", "4 releases")
        for change, confirm, words in (
            ({}, "yes", "type the word release"),
            ({"epsilon": "4"}, "release", "only 3 of 3 is left"),
            ({"epsilon": "1", "n": "100"}, "release", "“a column says whose record it is”"),
            ({"n": "120", "file": "wings.tps", "epsilon": "0.03"}, "release", "“release even if useless”"),
            ({"epsilon": "1", "n": "99"}, "release", "set n to 120"),
            ({"n": "120", "out": "reference.tps"}, "release", "would replace"),
        ):
            for id, text in change.items():
                page.fill(id, text)
            page.driver.execute_script("document.getElementById('confirm').value = ''")
            page.release(confirm)
            page.says("release-refusal", words)
            page.wait("return document.getElementById('useless-field').hidden !== arguments[0]", "useless" in words)
        np.save("vectors.npy", np.random.default_rng(0).normal(size=(20, 3)))
        page.fill("file", "vectors.npy")
        page["inspect"].click()
        page.says("seen", "does not say what these are")
        page.driver.find_element("xpath", "//div[@id='seen']//button[.='directions']").click()
        page.wait("return !document.getElementById('seen').textContent.includes('does not say')")
        assert page["space"].get_property("value") == "sphere"
        page.fill("space", "")
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
    with beside("wings.tps", "study.ledger") as address:
        page = Page(driver, address)
        page.says("left", "2 of 3 is left")
        page.says("left", "no release is noted for it: line 2")
        page.says("home", "Nothing was released yet")
        assert len(charges()) == 1
        page.plan()
        page.release()
        page.says("home", "Released: ε = 1")
    assert len(charges()) == 2  # confirmed anew
    with beside("wings.tps", "study.ledger") as address:  # killed once all was written: it is there
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


def test_the_browser_opens_by_a_file_or_by_the_code(studio_folder, each_driver):
    """What the browser is told has no secret; what it is told and what is printed lead to the page, and twice to its end."""
    driver, noted = each_driver, Path("noted").absolute()
    Path("browser").write_text(f'#!/bin/sh\necho "$@" > {noted}.new\nmv {noted}.new {noted}\n')
    Path("browser").chmod(0o700)
    env = {**os.environ, "PYTHONPATH": str(Path(sf.__file__).parents[1]), "BROWSER": f"{Path('browser').absolute()} %s"}
    command = [sys.executable, "-m", "sfumato", "studio", "wings.tps"]
    for by_hand in (False, True):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
            try:
                door, code = process.stdout.readline().split()[-1], process.stdout.readline().split()[-1]
                until = time.monotonic() + SECONDS
                while not noted.exists():
                    assert time.monotonic() < until, "no browser was started"
                    time.sleep(0.03)
                url = noted.read_text().strip()
                noted.unlink()
                assert url.startswith("file://")
                assert code not in url
                if by_hand:
                    driver.get(door)
                    driver.find_element("id", "code").send_keys(code, "\ue007")
                    until = time.monotonic() + SECONDS
                    while driver.current_url == door:
                        assert time.monotonic() < until, driver.page_source
                        time.sleep(0.03)
                page = Page(driver, driver.current_url if by_hand else url)
                assert page["file"].get_property("value") == "wings.tps"
                driver.refresh()
                page.wait("return document.documentElement.dataset.ready === 'yes'")
                assert page.complaints() == []
                driver.get(door)
                driver.find_element("id", "code").send_keys(code, "\ue007")
                assert process.wait(SECONDS) == 1
                assert "SOMEONE ELSE" in process.stdout.read()
            finally:
                process.kill()


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
navigator.sendBeacon(url + "api/release", body);
const form = document.createElement("form"), part = document.createElement("input");
[form.method, form.action, form.enctype, part.name] = ["post", url + "api/release", "text/plain", body.slice(0, -1) + ', "x'];
const frame = document.createElement("iframe");
[frame.name, form.target, part.value] = ["inside", "inside", '": 1}'];
document.body.append(frame, form);
form.append(part);
form.submit();
Promise.allSettled(tries).then(all => done(all.map(a => a.value || a.status)));
"""


def test_a_page_of_another_origin_can_neither_read_nor_spend(studio_folder, driver):
    """Even one that knows the secret address."""
    plan = {"files": "wings.tps", "unit": "one wing", "center": "reference.tps", "radius": 0.2, "n": 120, "epsilon": 1}
    plan |= {"ledger": "study.ledger"}
    evil = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    try:
        with beside("wings.tps", "study.ledger") as address:
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


def test_everybody_can_use_it(studio_folder, driver, monkeypatch):
    """Names for screen readers, contrast AA, nothing wider than a phone, and files that are dropped, one too large."""
    with beside() as address, as_wide_as(driver, 390):
        page = Page(driver, address)
        page.pick("who", "unit")
        dropped = """
        const dataTransfer = new DataTransfer(); dataTransfer.items.add(new File([arguments[0]], "dropped.tps"));
        const drop = new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true});
        document.getElementById("data").dispatchEvent(drop);
        """
        with monkeypatch.context() as small:
            small.setattr(server, "MOST_DROPPED", 1 << 20)
            driver.execute_script(dropped, "x" * (20 << 20))
            page.says("data-refusal", "dropped.tps: is too large to be dropped: one file may have 1 MB")
        driver.execute_script(dropped, Path("wings.tps").read_text())
        page.wait("return document.getElementById('file').value.endsWith('dropped.tps')")
        page["inspect"].click()
        page.says("seen", "120 records of 8 landmarks")
        page.plan(file=page["file"].get_property("value"), ledger="study.ledger")
        page.release()
        page.says("home", "Released: ε = 1")
        page.pick("what", "groups")  # all that can be asked is seen
        page.pick("how", "prior")
        for width in (390, 1280):
            with as_wide_as(driver, width):
                page.wait("return innerWidth === arguments[0]", width)
                assert driver.execute_script(CONTRAST) == []
                assert driver.execute_script(UNNAMED) == []
                assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert page.complaints() == []
