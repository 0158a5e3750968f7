"""What a panel drew: its words, and its axes as they are when it becomes a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from clusterbandits.report.picture import Picture, picture


def words(drawing: Picture) -> list[str]:
    texts = ET.fromstring(drawing.svg).iter("{http://www.w3.org/2000/svg}text")
    return [text.text or "" for text in texts]


def axes_of(draw: Callable[..., Picture], *given: Any, **settings: Any) -> Any:
    kept: list[Any] = []

    def keep(figure: Any, *words: str) -> Picture:
        kept.append(figure)
        return picture(figure, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{draw.__module__}.picture", keep)
        draw(*given, name="x", **settings)
    return kept[0].axes[0]
