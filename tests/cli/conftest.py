from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from attnscope.cli.app import app
from tests import zoo

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zoo.save(zoo.build("bert"), tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="session")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zoo.save(zoo.build("bart"), tmp_path_factory.mktemp("models") / "bart")


@pytest.fixture
def run() -> Run:
    """Run a command in this process; what is not said on standard error is a defect's traceback."""

    def runner(*args: object, given: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(app, [str(arg) for arg in args], input=given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return runner


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run a command that must be refused in one sentence, and return the sentence."""

    def runner(*args: object, given: str | bytes | None = None) -> str:
        result = run(*args, given=given)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("attnscope: ")
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.stderr
        return result.stderr

    return runner
