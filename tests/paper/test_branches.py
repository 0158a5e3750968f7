from __future__ import annotations

import pytest

from clusterbandits import InvalidInputError
from clusterbandits.paper.figures import FIGURES, figure_numbers, settings


def test_all_figures_in_order() -> None:
    assert [figure.number for figure in FIGURES] == [2, 3, 4, 5, 6, 7, 8]
    assert [len(figure.widths) for figure in FIGURES] == [1, 1, 1, 1, 1, 1, 4]
    assert len(settings()) == 10
    assert [one.name for one in settings([2, 8])][:2] == ["Figure 2", "Figure 8 [0.5, 0.9]"]
    assert len({one.key for one in settings()}) == 10


def test_captions_of_figures_3_and_6_name_the_wrong_branch() -> None:
    held = {one.figure.number: one.caption_holds for one in settings()}
    assert held == {2: True, 3: False, 4: True, 5: True, 6: False, 7: True, 8: None}


def test_widths_smaller_than_spans() -> None:
    violated = {
        (one.figure.number, one.widths): one.bound.violated for one in settings() if one.bound.violated
    }
    assert violated == {
        (3, (0.02, 0.02)): (0, 1),
        (7, (0.0, 0.02)): (0,),
        (8, (0.1, 0.7)): (0,),
        (8, (0.4, 0.2)): (1,),
    }


def test_unknown_figures_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"must be a number from 1 to 8, but got 9"):
        figure_numbers([2, 9])
    assert figure_numbers([8, 2, 8]) == (2, 8)
    assert figure_numbers() == (1, 2, 3, 4, 5, 6, 7, 8)
