"""What only a process of its own can show: start-up, signals, pipes, what comes out of a real terminal's streams."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

ATTNSCOPE = [sys.executable, "-c", "from attnscope.cli import main; main()"]


def test_help_loads_neither_torch_nor_transformers_nor_matplotlib():
    code = """
import sys
sys.argv = ["attnscope", "analyze", "--help"]
from attnscope.cli import main
try:
    main()
except SystemExit:
    pass
print({"torch", "transformers", "matplotlib", "numpy", "xarray"} & set(sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"
    assert "--measure" in done.stdout


def test_json_is_all_that_is_written_and_numbers_are_numbers(bert):
    done = subprocess.run(
        [*ATTNSCOPE, "analyze", str(bert), "the cat", "--json"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.stderr == b""
    assert json.loads(done.stdout)["dims"]["key"] == 4
    assert b"NaN" not in done.stdout


def test_a_reader_that_leaves_is_no_error(bert):
    with subprocess.Popen(
        [*ATTNSCOPE, "analyze", str(bert), "the cat", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 141
    assert errors == b""


@pytest.mark.skipif(os.name == "nt", reason="streams of POSIX")
def test_output_that_goes_nowhere_is_no_defect(bert):
    shell = f"exec {shlex.join([*ATTNSCOPE, 'verify', str(bert)])}"
    closed = subprocess.run(f"{shell} >&-", shell=True, capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")
    full = subprocess.run(f"{shell} >/dev/full", shell=True, capture_output=True, text=True, check=False)
    assert full.returncode == 2
    assert full.stderr.startswith("attnscope: the output can't be written: ")
    assert full.stderr.count("\n") == 1


# Slow down the write, so that the signal surely arrives in the middle of it.
_SLOW = """
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
write = pathlib.Path.write_bytes
def slow(self, content):
    write(self, content[: len(content) // 2])
    print("writing", file=sys.stderr, flush=True)
    time.sleep(60)
pathlib.Path.write_bytes = slow
sys.argv = ["attnscope", *sys.argv[1:]]
from attnscope.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_stops_and_leaves_nothing_half_written(bert, tmp_path):
    command = [sys.executable, "-c", _SLOW, "analyze", str(bert), "the cat", "--out", str(tmp_path / "result.nc")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while process.stderr.readline() != "writing\n":
            assert process.poll() is None
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "stopped\n"
    assert output == ""
    assert list(tmp_path.iterdir()) == []
