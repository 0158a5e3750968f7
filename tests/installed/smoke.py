"""What an installed package must do; run by the Python of a clean environment, outside the checkout."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import clusterbandits as cb
from clusterbandits.extras import EXTRAS, require_extra


def command(*arguments: str, code: int = 0) -> str:
    """Run the command as users do, check its exit code and return what it printed."""
    program = str(Path(sys.executable).parent / "clusterbandits")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def check_python() -> None:
    """Bounds, decisions and a short simulation."""
    clusters = cb.Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1)
    instance = cb.Instance([[0.4, 0.5], [0.6]])
    bound = cb.regret_bound(instance, clusters)
    assert 0.0 < bound.lower < bound.classical
    policy = cb.policy("ucb1", clusters)
    arms = set()
    for _ in range(3):
        arms.add(policy.ask())
        policy.tell(policy.ask(), 1)
    assert arms == {"a", "b", "c"}
    assert cb.Policy.from_json(policy.to_json()).ask() == policy.ask()
    unnamed = cb.Clusters([2, 1], widths=0.1)
    result = cb.simulate(instance, ["ucb1"], horizon=2000, runs=2, seed=1, clusters=unnamed)
    assert 0.0 < result.mean("ucb1")[-1] < 400.0


def check_commands() -> None:
    """Every command that needs no extra."""
    assert command("--version").split()[-1] == cb.__version__
    for name in ("advise", "bound", "paper", "replay", "run", "serve", "simulate"):
        assert name in command("--help")
        command(name, "--help")
    assert "Lai-Robbins" in command("bound", "0.41,0.42; 0.43,0.44")
    assert "clus-ucb" in command("policies")
    command("example", "start")
    assert Path("start.toml").is_file()
    assert "ucb1" in command(
        "simulate", "0.4,0.5; 0.6", "--policy", "ucb1", "--horizon", "500", "--runs", "2"
    )


def check_extras() -> None:
    """What is missing is named; the service starts where its extra is there."""
    assert "pip install 'clusterbandits[tables]'" in command("advise", "table.csv", code=2)
    assert "pip install 'clusterbandits[plot]'" in command("simulate", "0.4; 0.6", "--plot", "x.png", code=2)
    try:
        require_extra("serve")
    except cb.MissingExtraError:
        assert "pip install 'clusterbandits[serve]'" in command("serve", "check", code=2)
        return
    command("keys", "add", "first", "--role", "admin", "--data", "data")
    command("serve", "check", "--data", "data")
    # After the checks above: an application needs more modules than the commands.
    from fastapi.testclient import TestClient  # noqa: PLC0415

    from clusterbandits.service.app import create_app  # noqa: PLC0415
    from clusterbandits.service.settings import ServiceSettings, database_in  # noqa: PLC0415

    app = create_app(ServiceSettings(database_in(Path("data")), insecure=True))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        for path in ("/", "/page/main.js", "/docs", "/openapi.json"):
            assert client.get(path).status_code == 200, path


if __name__ == "__main__":
    assert "site-packages" in cb.__file__, cb.__file__
    missing = [package for package in EXTRAS["tables"] + EXTRAS["plot"] if package in sys.modules]
    assert not missing
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_python()
        check_commands()
        check_extras()
    print(f"Python {sys.version.split()[0]}: the installed package works")
