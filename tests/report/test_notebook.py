"""A real kernel displays every object and its plot."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import nbclient
import pytest
from nbformat import NotebookNode

ROOT = Path(__file__).parents[2]
#: A cell for every class: its last line is what the notebook displays.
CELLS = {
    "Clusters": "clusters",
    "Instance": "instance",
    "WidthFit": "clusters.fits(instance.means)",
    "RegretBound": "cb.regret_bound(instance, clusters)",
    "Policy": "policy",
    "Explanation": "policy.explain()",
    "Result": "result",
    "History": "history",
    "Advice": "advice",
    "ReplayResult": "replayed",
    "StudyReport": "report",
}
BEFORE = """
import json
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import clusterbandits as cb

clusters = cb.Clusters({"red": ["<b>", "a_b & c"], "blue": ["c"]}, widths=0.1)
instance = cb.Instance({"red": {"<b>": 0.3, "a_b & c": 0.4}, "blue": {"c": 0.6}})
policy = cb.KLUCB(clusters)
for arm in clusters.arms:
    policy.tell(arm, 3, pulls=9)
result = cb.simulate(instance, [policy], 200, runs=4)
rows = {"arm": ["<b>", "c"], "group": ["red", "blue"], "trials": [90, 90], "successes": [20, 50]}
history = cb.read_history(rows)
advice = cb.advise(history, horizon=100, worlds=2)
random = Random(1)
log = {"time": list(range(900)), "arm": [random.choice("ab") for _ in range(900)]}
log["reward"] = [int(random.random() < {"a": 0.3, "b": 0.7}[arm]) for arm in log["arm"]]
replayed = cb.replay(log, ["ucb1"], rounds=50)
study = Path(mkdtemp()) / "study.toml"
study.write_text('horizon=90\\nruns=4\\npolicies=["kl-ucb"]\\n[[instances]]\\nname="x"\\nmeans=[[0.2,0.3],[0.4]]\\n')
report = cb.run_study(study, study.parent / "report")
"""
AFTER = """
import sys
import matplotlib
print(json.dumps([len(sys.modules["matplotlib.pyplot"].get_fignums()), matplotlib.get_backend()]))
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Return what a kernel sent for every cell."""
    sources = {"before": BEFORE}
    for name, shown in CELLS.items():
        sources |= {name: shown, f"{name}.plot": f"{shown}.plot()"}
    sources |= {"after": AFTER}
    # Its annotations are incomplete.
    made: Any = NotebookNode
    kept: dict[str, Any] = {"cell_type": "code", "metadata": {}, "execution_count": None}
    cells = [{**kept, "outputs": [], "id": str(k), "source": one} for k, one in enumerate(sources.values())]
    data = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [made(cell) for cell in cells],
    }
    notebook = made(data)
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(variable, str(folder / variable.lower()))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
        patch.delenv("MPLBACKEND", raising=False)
        nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3").execute()
    return {name: cell["outputs"] for name, cell in zip(sources, notebook.cells, strict=True)}


def shown(outputs: list[Any]) -> dict[str, str]:
    """Return the data of all displays of a cell by their types."""
    assert {one["output_type"] for one in outputs} <= {"execute_result", "display_data"}, outputs
    return {kind: data for one in outputs for kind, data in one["data"].items()}


@pytest.mark.parametrize("name", CELLS)
def test_objects_are_tables_with_captions_and_names_as_text(outputs: dict[str, list[Any]], name: str) -> None:
    data = shown(outputs[name])
    assert set(data) == {"text/html", "text/plain"}
    assert "<table>" in data["text/html"]
    assert "<caption" in data["text/html"]
    assert "<b>" not in data["text/html"]


@pytest.mark.parametrize("name", CELLS)
def test_plots_are_pictures(outputs: dict[str, list[Any]], name: str) -> None:
    data = shown(outputs[f"{name}.plot"])
    assert set(data) == {"image/png", "text/plain"}
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


def test_the_kernel_closes_figures_after_their_cells(outputs: dict[str, list[Any]]) -> None:
    (printed,) = outputs["after"]
    figures, backend = json.loads(printed["text"])
    assert figures == 0
    assert "inline" in backend
