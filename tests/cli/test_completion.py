"""Completion in shells: the script, commands, options, and names that the running server has."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Outcome, findspot
from tests.servers import Server

Command = Callable[..., Outcome]


def completed(line: str, shell: str = "bash", **environment: str) -> list[str]:
    """Return what a shell is offered for the last word of a line, one answer per line."""
    words = len(shlex.split(line)) - (not line.endswith(" "))
    typed = {"_FINDSPOT_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(words)}
    program = Path(sys.executable).with_name("findspot")  # the variable is named after the program
    ended = subprocess.run(
        [program], env={**os.environ, **typed, **environment}, capture_output=True, text=True, timeout=120, check=True
    )
    assert ended.stderr == ""
    return [answer for answer in ended.stdout.splitlines() if answer]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_each_shell(shell: str) -> None:
    ended = findspot("completion", shell)
    assert ended.code == 0
    assert f"_FINDSPOT_COMPLETE={shell}_complete" in ended.out
    assert findspot("completion", "tcsh").code == 2


def test_commands_and_options_are_completed_without_a_server(tmp_path: Path) -> None:
    assert completed("findspot re") == ["plain,replace", "plain,restore", "plain,reindex"]
    assert "plain,list" in completed("findspot table ")
    assert "plain,--mode" in completed("findspot search --m")
    assert completed("findspot table get ", FINDSPOT_DATA=str(tmp_path / "none")) == []
    assert completed("findspot table get ", FINDSPOT_URL="http://127.0.0.1:1") == []


def test_names_are_completed_from_the_running_server(served: tuple[Server, Path], remote: Command) -> None:
    _, folder = served
    where = {"FINDSPOT_DATA": str(folder)}
    remote("project", "create", "补全 shelf")
    remote("table", "create", "补全 shelf", "atlas", "[]")
    remote("table", "create", "补全 shelf", "atlas of the sea", "[]")
    remote("document", "create", "补全 shelf", "Chapter one", "text")
    remote("tool", "create", "补全 shelf", "atlas", "atlas_all", "--type", "get_all_data")
    remote("endpoint", "create", "补全 shelf", "atlas agent", "atlas_all")
    assert completed("findspot table list 补全", **where) == ["plain,补全\\ shelf"]
    assert completed("findspot table get atlas", **where) == ["plain,atlas", "plain,atlas\\ of\\ the\\ sea"]
    assert completed("findspot document get Chapter\\ o", **where) == ["plain,Chapter\\ one"]
    assert completed("findspot document get Chap", **where) == ["plain,Chapter\\ one"]
    assert completed("findspot tool call atlas", **where) == ["plain,atlas_all"]
    assert completed("findspot endpoint tools atlas", **where) == ["plain,atlas\\ agent"]
    assert completed("findspot reindex --tool atlas_", **where) == ["plain,atlas_all"]
    assert completed("findspot search x --project 补", **where) == ["plain,补全\\ shelf"]


def test_fish_gets_the_kind_and_the_id_beside_a_name(served: tuple[Server, Path], remote: Command) -> None:
    _, folder = served
    made = remote("project", "create", "鱼 fish", "--json").json
    typed = {"_FINDSPOT_COMPLETE": "fish_complete", "COMP_WORDS": "findspot table list", "COMP_CWORD": "鱼"}
    program = Path(sys.executable).with_name("findspot")
    ended = subprocess.run(
        [program],
        env={**os.environ, **typed, "FINDSPOT_DATA": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.stdout == f"plain,鱼 fish\tproject {made['id']}\n"


def test_bash_completes_a_name_with_blanks_so_that_it_stays_one_word(
    served: tuple[Server, Path], remote: Command
) -> None:
    _, folder = served
    remote("project", "create", "bash shelf")
    typed = (
        f"{findspot('completion', 'bash').out}\nCOMP_WORDS=(findspot table list ba); COMP_CWORD=3\n"
        f'_findspot_completion {Path(sys.executable).with_name("findspot")}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    environment = {**os.environ, "FINDSPOT_DATA": str(folder)}
    ended = subprocess.run(["bash", "-c", typed], env=environment, capture_output=True, text=True, timeout=120)
    assert ended.stdout == "bash\\ shelf\n", ended
