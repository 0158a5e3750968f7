from __future__ import annotations

from clusterbandits.paper.figures import figure
from clusterbandits.paper.programme import MISLED, PAPER_POLICIES, Programme, skipping_policies, text_of
from clusterbandits.paper.settings import PaperSettings
from clusterbandits.policies import POLICIES


def test_figures_with_the_same_instance_share_experiments_of_policies_without_widths() -> None:
    programme = Programme(PaperSettings())
    four, six = (programme.figure(figure(number), figure(number).widths[0]) for number in (4, 6))
    assert four["kl-ucb"] == six["kl-ucb"]
    assert four["tlp-max"] == six["tlp-max"]
    assert four["clus-ucb"] != six["clus-ucb"]
    assert four["clus-ucb"].instance.means.tolist() == six["clus-ucb"].instance.means.tolist()


def test_each_experiment_has_its_own_folder() -> None:
    experiments = Programme(PaperSettings(beyond=True)).experiments()
    folders = [one.folder for one in experiments]
    assert len(set(folders)) == len(experiments) == len(set(experiments))


def test_only_the_experiments_of_chosen_figures_are_simulated() -> None:
    numbers = {one.number for one in Programme(PaperSettings(figures=[6])).experiments()}
    assert numbers == {4}
    assert Programme(PaperSettings(figures=[1])).experiments() == ()


def test_constant_and_refresh_reach_every_policy_that_has_them() -> None:
    experiments = Programme(PaperSettings(a=5, refresh=50)).figure(figure(2), figure(2).widths[0])
    assert [experiments[name].policy for name in PAPER_POLICIES] == [
        f"{name}:a=5,refresh=50" for name in PAPER_POLICIES
    ]
    assert experiments["clus-ucb"].learner().settings["refresh"] == 50
    assert text_of("imed", {"a": 5.0, "refresh": 50}) == "imed"
    assert text_of("kl-ucb", {"a": 3.1415926}) == "kl-ucb:a=3.1415926"


def test_readings_cover_all_interpretations() -> None:
    readings = Programme(PaperSettings()).readings()
    learners = [one.learner() for one in readings.values()]
    assert len(readings) == len(set(readings.values())) == 8
    assert {learner.clusters.widths for learner in learners} == {MISLED}
    assert {learner.settings["leader"] for learner in learners} == {"clustered", "plain"}
    assert {learner.settings["refresh"] for learner in learners} == {1, 50}


def test_all_policies_that_do_not_draw_go_beyond() -> None:
    programme = Programme(PaperSettings(beyond=True, horizon=1000, runs=9))
    experiments = programme.beyond(figure(8), figure(8).widths[2])
    assert set(experiments) == set(skipping_policies())
    assert set(experiments) == {name for name, kind in POLICIES.items() if not kind.randomised}
    assert {"clus-opt", "imed-opt", "ossb", "ucb1", "kl-ucb++"} <= set(experiments)
    assert {(one.horizon, one.paired) for one in experiments.values()} == {(10**7, False)}
    assert {name for name, one in experiments.items() if one.runs == 9} == {
        "kl-ucb", "ckl-ucb", "clus-ucb", "clus-ucb-hedged", "clus-opt",
    }  # fmt: skip
    assert {one.runs for name, one in experiments.items()} == {3, 9}


def test_ossb_stays_away_from_widths_of_0() -> None:
    programme = Programme(PaperSettings(beyond=True))
    assert "ossb" not in programme.beyond(figure(7), figure(7).widths[0])
    assert "ossb" in programme.beyond(figure(6), figure(6).widths[0])


def test_checkpoints_serve_both_scales() -> None:
    one = Programme(PaperSettings()).figure(figure(2), figure(2).widths[0])["kl-ucb"]
    assert {1, 10**4, 20_000, 40_000, 980_000, 10**6} <= set(one.checkpoints)
    assert one.checkpoints == tuple(sorted(set(one.checkpoints)))
