"""The live page in a real browser, on a real service."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import needs_browser, opened_browser
from tests.hostile import SCRIPTS
from tests.service.running import Served

pytestmark = needs_browser
#: Milliseconds until a change must be visible: the stream looks twice per second, charts every two seconds.
SOON = 10_000
TWO_GROUPS = {"red": ["a", "b"], "blue": ["c"]}


#: The smallest contrast of text with the background behind it, with the text, and the luminance of the page.
CONTRAST = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) =>
    0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = node => {
    for (let one = node; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return luminance(colour);
    }
    return 1;
  };
  let worst = [Infinity, ''];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !node.checkVisibility() || node.closest('svg')) continue;
    const pair = [luminance(parts(getComputedStyle(node).color)), ground(node)].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < worst[0]) worst = [contrast, texts.currentNode.textContent];
  }
  return [worst, ground(document.body)];
}"""


class Visit:
    """A page with a key, and everything that it should not have done."""

    def __init__(self, browser: Any, url: str, key: str | None, width: int = 1280) -> None:
        self.url = url
        self.page = browser.new_page(viewport={"width": width, "height": 800})
        self.page.set_default_timeout(SOON)
        self.problems: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._note_request)
        self.page.add_init_script(
            "document.addEventListener('securitypolicyviolation', one => console.error(one.blockedURI))"
        )
        if key is not None:
            self.page.add_init_script(f"sessionStorage.setItem('clusterbandits key', {key!r})")

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith((f"{self.url}/", "data:")):
            self.problems.append(f"asked for {request.url}")

    def go(self, name: str | None = None) -> Any:
        """Open the list, or an experiment, and return the page when its data are shown."""
        self.page.goto(f"{self.url}/" if name is None else f"{self.url}/#/experiments/{name}")
        self.page.locator("#status[data-state=live]").wait_for()
        if name is not None:
            self.page.locator("#headline").wait_for()
        return self.page

    def check(self) -> None:
        """Fail if anything went wrong, then close the page."""
        assert self.problems == []
        assert self.page.evaluate("window.hacked") is None
        self.page.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


def create(served: Served, name: str, groups: dict[str, list[str]], widths: object = None) -> None:
    answer = served.client.post("/v1/experiments", json={"name": name, "groups": groups, "widths": widths})
    # A module shares its service, and some tests run several times.
    assert answer.status_code in {200, 201}, answer.text


def decide(served: Served, name: str, count: int, rewards: dict[str, float] | None = None) -> None:
    """Make decisions; reward each with the value of its arm, 1 by default."""
    note = {"page": SCRIPTS[0]}
    made = served.post(f"/v1/experiments/{name}/decisions", {"count": count, "note": note})["decisions"]
    values = rewards or {}
    given = [{"id": one["id"], "value": values.get(one["arm"], 1)} for one in made]
    served.post("/v1/rewards", {"rewards": given})


def width_of(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


def waits_for(page: Any, selector: str, text: str) -> None:
    page.locator(selector).filter(has_text=text, visible=True).first.wait_for()


def test_times_that_do_not_fit_are_left_out(browser: Any, served: Served) -> None:
    visit = Visit(browser, served.url, served.key, 360)
    shown = visit.go().evaluate("""async () => {
      const made = (await import('/page/plot.js')).plot('A plot');
      document.querySelector('main').append(made.node);
      const data = {from: 0, to: 90, low: 0, high: 1, describe: '', readout: () => null, shapes: () => []};
      made.draw(data);
      return [...made.node.querySelectorAll('.times span')].map(one => getComputedStyle(one).visibility);
    }""")
    assert shown == ["hidden", "visible", "visible", "hidden"]
    visit.check()


@pytest.mark.parametrize("width", [360, 1280])
def test_every_view_opens_without_errors_or_sideways_scrolling(
    browser: Any, served: Served, width: int
) -> None:
    long = ["y" * 200, ("many words " * 18).strip()]
    create(served, "views", {**TWO_GROUPS, "long " + "x" * 190: long}, 0.1)
    for _ in range(2):
        decide(served, "views", 40)
    visit = Visit(browser, served.url, served.key, width)
    page = visit.go()
    waits_for(page, "table.experiments", "views")
    assert width_of(page) == width
    page = visit.go("views")
    page.locator("#history svg[role=img]").first.wait_for()
    waits_for(page, "#decisions", "rewarded")
    waits_for(page, "#changes", "created")
    assert width_of(page) == width
    for summary in page.get_by_text("Show as a table").all():
        summary.click()
    page.get_by_role("button", name="Table", exact=True).click()
    page.get_by_label("Find an arm or a group").fill("many words")
    page.get_by_text("1 arm found").wait_for()
    assert page.locator(".arms-table tbody tr").count() == 1
    assert width_of(page) == width
    visit.check()


def test_numbers_and_charts_follow_decisions(browser: Any, served: Served) -> None:
    create(served, "moving", TWO_GROUPS)
    visit = Visit(browser, served.url, served.key)
    page = visit.go("moving")
    page.get_by_role("heading", name="No decisions yet").wait_for()
    assert page.locator("[data-value=decisions]").inner_text() == "0"
    decide(served, "moving", 1000)
    waits_for(page, "[data-value=decisions]", "1,000")
    waits_for(page, "[data-value=mean]", "1.000")
    waits_for(page, "#decisions", "rewarded")
    assert not page.locator("#first").is_visible()
    decide(served, "moving", 234, {"a": 0, "b": 0, "c": 0})
    waits_for(page, "[data-value=decisions]", "1,234")
    page.locator("#history svg[role=img][aria-label^='Cumulative reward']").wait_for()
    waits_for(page, "#history .groups-legend", "red")
    visit.check()


@pytest.mark.parametrize("width", [360, 1280])
def test_text_can_be_read_in_the_dark_and_in_the_light(browser: Any, served: Served, width: int) -> None:
    create(served, "colours", TWO_GROUPS)
    decide(served, "colours", 40)
    grounds = []
    for scheme in ("dark", "light"):
        visit = Visit(browser, served.url, served.key, width)
        visit.page.emulate_media(color_scheme=scheme)
        page = visit.go("colours")
        waits_for(page, "#decisions", "rewarded")
        worst, ground = page.evaluate(CONTRAST)
        assert worst[0] >= 4.5, worst
        grounds.append(ground)
        visit.check()
    dark, light = grounds
    assert (dark < 0.1, light > 0.8) == (True, True)


def test_the_description_of_the_api_opens_without_outside_assets(browser: Any, served: Served) -> None:
    assert served.get("/openapi.json")["openapi"].startswith("3.1")
    visit = Visit(browser, served.url, None)
    visit.page.goto(f"{served.url}/docs")
    visit.page.get_by_text("/v1/experiments/{name}/decisions", exact=True).first.wait_for()
    visit.check()


def test_the_list_follows_new_experiments(browser: Any, served: Served) -> None:
    visit = Visit(browser, served.url, served.key)
    page = visit.go()
    create(served, "newcomer", TWO_GROUPS)
    waits_for(page, "table.experiments tr", "newcomer")
    served.post("/v1/experiments/newcomer/archive")
    page.get_by_role("link", name="newcomer").wait_for(state="detached")
    page.get_by_label("Show archived experiments").check()
    waits_for(page, "table.experiments tr", "newcomer")
    visit.check()


def test_a_long_list_can_be_searched(browser: Any, served: Served) -> None:
    visit = Visit(browser, served.url, served.key)
    page = visit.go()
    names = [f"season-{number}" for number in range(1, 13)]
    for name in names:
        create(served, name, TWO_GROUPS)
    page.get_by_label("Find an experiment").fill("Season-1")
    page.get_by_text("4 experiments found").wait_for()
    rows = page.locator("table.experiments tbody tr")
    assert rows.locator("a").all_text_contents() == ["season-1", "season-10", "season-11", "season-12"]
    # What is searched stays while the list is updated, also when it has become short.
    for name in names[1:]:
        served.post(f"/v1/experiments/{name}/archive")
    page.get_by_text("1 experiment found").wait_for()
    page.get_by_label("Find an experiment").fill("no such name")
    page.get_by_text("0 experiments found").wait_for()
    assert not page.locator("#empty").is_visible()
    page.get_by_label("Find an experiment").fill("")
    waits_for(page, "table.experiments tr", names[0])
    served.post(f"/v1/experiments/{names[0]}/archive")
    visit.check()


def test_pausing_and_resuming_need_a_confirmation(browser: Any, served: Served) -> None:
    create(served, "stopped", TWO_GROUPS)
    visit = Visit(browser, served.url, served.key)
    page = visit.go("stopped")
    dialog = page.get_by_role("dialog")
    page.locator("#pause").click()
    dialog.wait_for()
    assert page.evaluate("document.activeElement.id") == "confirm-no"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert served.get("/v1/experiments/stopped")["state"] == "running"
    page.locator("#pause").click()
    dialog.get_by_role("button", name="Pause").click()
    page.get_by_text("This experiment is paused.").wait_for()
    assert served.get("/v1/experiments/stopped")["state"] == "paused"
    waits_for(page, "#changes", "paused")
    page.locator("#resume").click()
    dialog.get_by_role("button", name="Resume").click()
    page.locator("#pause").wait_for()
    assert served.get("/v1/experiments/stopped")["state"] == "running"
    visit.check()


def test_a_refused_action_says_why(browser: Any, served: Served) -> None:
    create(served, "refused", TWO_GROUPS)
    visit = Visit(browser, served.url, served.key)
    page = visit.go("refused")
    answer = {"status": 503, "json": {"detail": "The database does not answer."}}
    page.route("**/refused/pause", lambda route: route.fulfill(**answer))
    page.locator("#pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    page.get_by_text("The database does not answer.").wait_for()
    visit.problems.clear()
    visit.check()


def test_hostile_names_and_notes_are_text(browser: Any, served: Served) -> None:
    names = [*SCRIPTS[:6], "__proto__", "constructor"]
    create(served, "hostile", {SCRIPTS[1]: names[:4], "__proto__": names[4:]}, {SCRIPTS[1]: 0.1})
    for _ in range(2):
        decide(served, "hostile", 60)
    visit = Visit(browser, served.url, served.key)
    page = visit.go("hostile")
    waits_for(page, "#decisions code", SCRIPTS[0])
    waits_for(page, "#history .groups-legend", "__proto__")
    shown = page.locator("#arms .rows .name").evaluate_all("all => all.map(one => one.title)")
    assert sorted(shown) == sorted(names)
    foreign = "main :is(script, img, iframe, object, embed, base, link, style, foreignObject)"
    assert page.locator(foreign).count() == 0
    listeners = "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes])"
    assert page.evaluate(f"{listeners}.filter(one => one.name.startsWith('on')).length") == 0
    page.get_by_role("button", name="Table", exact=True).click()
    page.locator(".arms-table").wait_for()
    listed = page.locator(".arms-table th .name").filter(visible=True).all_text_contents()
    assert sorted(listed) == sorted(names)
    visit.check()


def test_characters_that_turn_or_end_a_line_are_escaped(browser: Any, served: Served) -> None:
    create(served, "turned", {"red": ["\u202egnp.exe", "two\nlines"]})
    visit = Visit(browser, served.url, served.key)
    page = visit.go("turned")
    page.locator("#arms").get_by_text("\\u202egnp.exe", exact=True).wait_for()
    page.locator("#arms").get_by_text("two\\u000alines", exact=True).wait_for()
    visit.check()


def test_it_can_be_used_with_the_keyboard_alone(browser: Any, served: Served) -> None:
    create(served, "typed", TWO_GROUPS)
    visit = Visit(browser, served.url, served.key)
    page = visit.go()
    waits_for(page, "table.experiments", "typed")
    focused = "document.activeElement.textContent"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(focused) == "typed":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.locator("#headline").wait_for()
    assert page.evaluate("[document.activeElement.tagName, document.activeElement.textContent]") == [
        "H1",
        "typed",
    ]
    assert page.title() == "typed · clusterbandits"
    fold = page.locator("#arms button[aria-expanded]").first
    fold.focus()
    page.keyboard.press("Space")
    assert fold.get_attribute("aria-expanded") == "false"
    decide(served, "typed", 50)
    waits_for(page, "[data-value=decisions]", "50")
    assert fold.evaluate("one => one === document.activeElement")
    page.go_back()
    page.get_by_role("heading", name="Experiments").wait_for()
    page.go_forward()
    page.locator("#headline").wait_for()
    visit.check()


def test_a_wrong_key_is_refused_and_a_right_one_remembered(browser: Any, served: Served) -> None:
    create(served, "locked", TWO_GROUPS)
    visit = Visit(browser, served.url, None)
    page = visit.page
    page.goto(f"{served.url}/#/experiments/locked")
    for wrong in ("wrong", "schlüssel"):
        page.get_by_label("API key").fill(wrong)
        page.keyboard.press("Enter")
        page.get_by_text("The service does not accept this key.").wait_for()
    page.get_by_label("API key").fill(served.key)
    page.keyboard.press("Enter")
    page.locator("#headline").wait_for()
    page.reload()
    page.locator("#headline").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key").wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    # The browser itself notes each answer 401: without a key, and with the first wrong one.
    assert len(visit.problems) == 2
    assert all("401" in problem for problem in visit.problems)
    page.close()


def test_an_unknown_experiment_is_said_to_be_unknown(browser: Any, served: Served) -> None:
    visit = Visit(browser, served.url, served.key)
    visit.page.goto(f"{served.url}/#/experiments/nowhere")
    visit.page.get_by_role("heading", name="Not found").wait_for()
    visit.page.get_by_role("link", name="← All experiments").click()
    visit.page.get_by_role("heading", name="Experiments").wait_for()
    visit.page.close()


def test_an_alarm_says_what_happened_and_what_to_do(browser: Any, served: Served) -> None:
    create(served, "alarmed", {"red": ["a", "b"], "blue": ["c", "d"]}, {"red": 0.01, "blue": 0.5})
    for available in ("a", "b"):
        body = {"count": 300, "available": [available]}
        made = served.post("/v1/experiments/alarmed/decisions", body)["decisions"]
        rewards = [{"id": one["id"], "value": int(available == "a")} for one in made]
        served.post("/v1/rewards", {"rewards": rewards})
    decide(served, "alarmed", 100)
    assert served.get("/v1/experiments/alarmed")["alarms"]
    visit = Visit(browser, served.url, served.key)
    page = visit.go("alarmed")
    notice = page.get_by_role("alert").filter(has_text="Width alarm in group red")
    notice.wait_for()
    assert '"widths":{"red":null,"blue":0.5}' in notice.inner_text()
    visit.check()


def test_two_thousand_arms_stay_usable(browser: Any, served: Served) -> None:
    groups = {f"group {i}": [f"arm {i}-{j}" for j in range(50)] for i in range(40)}
    create(served, "many", groups, 0.1)
    decide(served, "many", 1000)
    visit = Visit(browser, served.url, served.key)
    visit.page.add_init_script(
        "window.slow = []; const note = all => slow.push(...all.getEntries().map(one => one.duration));"
        "new PerformanceObserver(note).observe({type: 'longtask', buffered: true})"
    )
    page = visit.go("many")
    page.get_by_role("button", name="Open all groups").click()
    decide(served, "many", 1000)
    waits_for(page, "[data-value=decisions]", "2,000")
    page.get_by_role("button", name="Show 10 more of 40 groups").click()
    page.get_by_role("button", name="Table", exact=True).click()
    page.get_by_label("Find an arm or a group").fill("arm 39-49")
    page.get_by_text("1 arm found").wait_for()
    assert page.evaluate("document.querySelectorAll('*').length") < 15_000
    # A generous limit, because tests share the machine; 0.05 s alone.
    assert max(page.evaluate("slow"), default=0) < 1000
    visit.check()


def test_roles_and_lost_connections(browser: Any, served: Served, tmp_path: Path) -> None:
    """Read alone shows no buttons; a service that is gone and comes back is noticed."""
    data = ["--data", str(tmp_path / "data")]
    own = Served(*data, folder=tmp_path)
    try:
        own.wait()
        create(own, "ads", TWO_GROUPS)
        command = [sys.executable, "-m", "clusterbandits", "keys", "add", "reader", "--role", "read", *data]
        added = subprocess.run(command, capture_output=True, text=True, check=True)
        key = next(line.strip() for line in added.stdout.splitlines() if line.startswith("cb_"))
        own.wait_for_key(key)
        visit = Visit(browser, own.url, key)
        page = visit.go("ads")
        waits_for(page, "#who", "reader")
        assert page.locator("#pause").count() == 0
        admin = own.key
        own.kill()
        waits_for(page, "#status", "connection lost, retrying")
        own = Served(*data, folder=tmp_path, port=own.port)
        own.use_key(admin)
        own.wait()
        # The page waits up to 15 seconds between two attempts.
        page.locator("#status[data-state=live]").wait_for(timeout=40_000)
        decide(own, "ads", 17)
        waits_for(page, "[data-value=decisions]", "17")
        page.close()
    finally:
        own.kill()
    assert served.get("/health")["status"] == "ok"
