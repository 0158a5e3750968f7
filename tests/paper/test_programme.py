from __future__ import annotations

from clusterbandits.paper.figures import figure
from clusterbandits.paper.games import PAPER_POLICIES, text_of
from clusterbandits.paper.programme import MISLED, Programme, holding_policies
from clusterbandits.paper.settings import PaperSettings
from clusterbandits.policies import POLICIES


def test_figures_with_one_instance_share_the_games_of_policies_without_widths() -> None:
    programme = Programme(PaperSettings())
    four, six = (programme.figure(figure(number), figure(number).widths[0]) for number in (4, 6))
    assert four["kl-ucb"] == six["kl-ucb"]
    assert four["tlp-max"] == six["tlp-max"]
    assert four["clus-ucb"] != six["clus-ucb"]
    assert four["clus-ucb"].instance.means.tolist() == six["clus-ucb"].instance.means.tolist()


def test_every_game_has_a_folder_of_its_own() -> None:
    games = Programme(PaperSettings(beyond=True)).games()
    folders = [game.folder for game in games]
    assert len(set(folders)) == len(games) == len(set(games))


def test_only_what_chosen_figures_need_is_played() -> None:
    numbers = {game.number for game in Programme(PaperSettings(figures=[6])).games()}
    assert numbers == {4}
    assert Programme(PaperSettings(figures=[1])).games() == ()


def test_constant_and_refresh_reach_every_policy_that_has_them() -> None:
    games = Programme(PaperSettings(a=5, refresh=50)).figure(figure(2), figure(2).widths[0])
    assert [games[name].policy for name in PAPER_POLICIES] == [
        f"{name}:a=5,refresh=50" for name in PAPER_POLICIES
    ]
    assert games["clus-ucb"].learner().settings["refresh"] == 50
    assert text_of("imed", {"a": 5.0, "refresh": 50}) == "imed"
    assert text_of("kl-ucb", {"a": 3.1415926}) == "kl-ucb:a=3.1415926"


def test_readings_cover_the_misled_widths_in_every_way() -> None:
    readings = Programme(PaperSettings()).readings()
    learners = [game.learner() for game in readings.values()]
    assert len(readings) == len(set(readings.values())) == 8
    assert {learner.clusters.widths for learner in learners} == {MISLED}
    assert {learner.settings["leader"] for learner in learners} == {"clustered", "plain"}
    assert {learner.settings["refresh"] for learner in learners} == {1, 50}


def test_all_policies_that_do_not_draw_go_beyond() -> None:
    programme = Programme(PaperSettings(beyond=True, horizon=1000, runs=9))
    games = programme.beyond(figure(8), figure(8).widths[2])
    assert set(games) == set(holding_policies()) == {n for n, kind in POLICIES.items() if not kind.randomised}
    assert {"clus-opt", "imed-opt", "ossb", "ucb1", "kl-ucb++"} <= set(games)
    assert {(game.horizon, game.paired) for game in games.values()} == {(10**7, False)}
    assert {name for name, game in games.items() if game.runs == 9} == {
        "kl-ucb", "ckl-ucb", "clus-ucb", "clus-ucb-hedged", "clus-opt",
    }  # fmt: skip
    assert {game.runs for name, game in games.items()} == {3, 9}


def test_ossb_stays_away_from_widths_of_0() -> None:
    programme = Programme(PaperSettings(beyond=True))
    assert "ossb" not in programme.beyond(figure(7), figure(7).widths[0])
    assert "ossb" in programme.beyond(figure(6), figure(6).widths[0])


def test_checkpoints_serve_both_scales() -> None:
    game = Programme(PaperSettings()).figure(figure(2), figure(2).widths[0])["kl-ucb"]
    assert {1, 10**4, 20_000, 40_000, 980_000, 10**6} <= set(game.checkpoints)
    assert game.checkpoints == sorted(set(game.checkpoints))
