"""Errors of commands speak of options, arguments and files, and suggest names."""

from __future__ import annotations

import pytest

from clusterbandits.cli.main import run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("bound 0.1,0.2 --widths=-1", "--widths must be numbers from 0 to infinity, but got -1.0."),
        ("bound 0.1,1.2", "Means must be from 0 to 1"),
        ("bound 0.1 --widht 1", "Unknown option '--widht'. Did you mean '--widths'?"),
        ("bound 0.1 --widths", "--widths needs a value."),
        ("bound 0.1 --family gausian", "Unknown family 'gausian'. Did you mean 'gaussian'?"),
        ("bound 0.1 --family gaussian:sigma=-1", "--family gaussian: sigma must be"),
        ("simulate 0.1,0.2 --policy klucb", "Unknown policy 'klucb'. Did you mean 'kl-ucb'?"),
        ("simulate 0.1,0.2 --policy clus-ucb:a=-1", "--policy clus-ucb: a must be"),
        ("simulate 0.1,0.2 --policy kl-ucb++:horizon=0", "--policy kl-ucb++: horizon must be"),
        ("bound 0.1,x", 'The problem must be means such as "0.41,0.42; 0.43,0.44" (semicolons'),
        ("simulate 0.1,0.2 --low 0", "--low needs --high, the largest possible reward."),
        ("paper --runs x", "--runs must be a number, but got 'x'."),
        ("paper --runs 2.5", "--runs must be a whole number of at least 2, but got 2.5."),
        ("paper --refresh 0.5", "--refresh must be a whole number of at least 1, but got 0.5."),
        ("simulate 0.1,0.2 --runs 1e99", "--runs must be a whole number of at most"),
        ("paper --figur 3", "Unknown option '--figur'. Did you mean '--figure'?"),
        ("serve --port 0", "--port must be at least 1, but got '0'."),
        ("serve chek", "Unknown command 'chek'. Did you mean 'check'?"),
        ("simulat", "Unknown command 'simulat'. Did you mean 'simulate'?"),
        ("example stard", "Unknown example 'stard'. Did you mean 'start'?"),
        ("policies more", "Unexpected argument: more."),
    ],
)
def test_errors_name_options(capsys: pytest.CaptureFixture[str], arguments: str, said: str) -> None:
    with pytest.raises(SystemExit) as end:
        run(arguments.split())
    printed = capsys.readouterr()
    assert (end.value.code, printed.out) == (2, "")
    assert printed.err.startswith(f"Error: {said}")
    assert printed.err.count("\n") == 1
