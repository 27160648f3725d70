"""`findspot replace` against a real server: preview, confirmation, progress and undo."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Outcome, Terminal, findspot, findspot_on_terminal
from tests.cli.projects import add_project
from tests.servers import Server

STORIES = {"Chapter one": "The old Warehouse, an OLD warehouse.\n\n废弃仓库。", "第二章": "她走进废弃仓库，warehouse。"}


@pytest.fixture
def target(served: tuple[Server, Path]) -> tuple[str, ...]:
    """The options that select a new project of the shared server with two chapters."""
    return add_project(served[0], STORIES)


@pytest.fixture
def replace(target: tuple[str, ...]) -> Callable[..., Outcome]:
    def run(*arguments: str, code: int = 0) -> Outcome:
        ended = findspot("replace", *target, *arguments)
        assert ended.code == code, ended
        return ended

    return run


def texts(served: tuple[Server, Path], target: tuple[str, ...]) -> list[str]:
    with served[0].client() as client:
        project = target[target.index("--project") + 1]
        listed = client.get(f"/api/v1/projects/{project}/documents").json()["documents"]
        return [client.get(f"/api/v1/documents/{each['id']}").json()["text"] for each in listed]


def test_a_preview_is_printed_as_a_diff_by_document_and_needs_an_answer(
    replace: Callable[..., Outcome], served: tuple[Server, Path], target: tuple[str, ...]
) -> None:
    ended = replace("废弃仓库", "荒废工厂", code=2)
    assert "2 matches in 2 documents" in ended.out
    assert "  她走进[-废弃仓库-]{+荒废工厂+}，warehouse。" in ended.out
    assert ended.err.startswith("✗ Nothing was changed.\n  Add --yes")
    assert texts(served, target) == list(STORIES.values())


def test_replacing_says_how_to_undo_it_and_undo_takes_it_back(
    replace: Callable[..., Outcome], served: tuple[Server, Path], target: tuple[str, ...]
) -> None:
    out = replace("warehouse", "factory", "--yes", "--preserve-case").out
    assert "[-Warehouse-]{+Factory+}" in out
    assert "✓ Replaced 3 matches in 2 documents. Undo: findspot replace --undo " in out
    assert texts(served, target)[0].startswith("The old Factory, an OLD factory.")
    id = out.rpartition("--undo ")[2].split()[0]
    listed = replace("--list").out
    assert "warehouse" in listed
    assert "2 can be undone" in listed
    assert replace("--undo", id).out == "✓ Put back 2 documents.\n"
    assert texts(served, target) == list(STORIES.values())
    assert "undone" in replace("--list").out


def test_options_narrow_what_is_replaced(
    replace: Callable[..., Outcome], served: tuple[Server, Path], target: tuple[str, ...]
) -> None:
    found = replace("old", "new", "--case", "--json").json
    (item,) = found["items"]
    assert [(each["before"], each["start"]) for each in item["matches"]] == [("old", 4)]
    document = str(item["documentId"])
    done = replace("(o)ld", "$1lder", "--regex", "--word", "--json", "--yes", "--exclude", f"{document}:4").json
    assert (done["replacedCount"], done["skipped"]) == (1, [])
    assert texts(served, target)[0].startswith("The old Warehouse, an Older warehouse.")
    assert replace("废弃仓库", "x", "--document", document, "--json").json["totalMatches"] == 1
    out = replace("废弃仓库", "x", "--yes", "--exclude", document).out
    assert f"Chapter one  document {document}\n  excluded\n" in out
    assert out.count("in 1 document") == 1
    everything = replace("她走进", "x", "--yes", "--exclude", "第二章").out
    assert everything.endswith("第二章  document " + str(int(document) + 1) + "\n  excluded\n\nNothing was replaced.\n")
    assert replace("zyzzyva", "x").out == "No document matches. Nothing was changed.\n"


def test_documents_and_matches_are_excluded_by_the_title_of_the_document(
    replace: Callable[..., Outcome], served: tuple[Server, Path], target: tuple[str, ...]
) -> None:
    out = replace("warehouse", "factory", "--yes", "--exclude", "第二章", "--exclude", "Chapter one:8").out
    assert "      8  The old Warehouse, an OLD warehouse.  excluded\n" in out
    assert "     26  The old Warehouse, an OLD [-warehouse-]{+factory+}.\n" in out
    assert "✓ Replaced 1 match in 1 document." in out
    assert texts(served, target) == [STORIES["Chapter one"].replace("warehouse", "factory"), STORIES["第二章"]]


def test_an_undo_after_an_edit_says_that_nothing_was_put_back(
    replace: Callable[..., Outcome], served: tuple[Server, Path], target: tuple[str, ...]
) -> None:
    id = replace("old", "new", "--case", "--yes", "--json").json["previewId"]
    replace("new", "newer", "--yes")
    out = replace("--undo", str(id)).out
    assert out.startswith("No document was put back.\n  Skipped document ")
    assert texts(served, target)[0].startswith("The newer Warehouse")


def test_wrong_arguments_are_refused(replace: Callable[..., Outcome]) -> None:
    for arguments in ((), ("old",), ("old", "new", "--list"), ("--undo", "1", "--list")):
        assert "✗ Give " in replace(*arguments, code=2).err
    assert "There is no document 'x'" in replace("old", "new", "--exclude", "x:1", code=3).err
    assert "has no match" in replace("old", "new", "--yes", "--exclude", "999999", code=2).err
    assert "regular expression" in replace("(", "x", "--regex", code=2).err
    assert "'findspot replace --list'" in replace("--undo", "999999", code=3).err


def test_deleting_text_needs_its_own_confirmation(
    replace: Callable[..., Outcome], served: tuple[Server, Path], target: tuple[str, ...]
) -> None:
    assert replace("废弃仓库", "", "--yes", code=2).err.startswith(
        "✗ This deletes the text. Nothing was changed.\n  Add --risk"
    )
    assert texts(served, target) == list(STORIES.values())
    assert "Replaced 2 matches" in replace("废弃仓库", "", "--yes", "--risk").out
    assert texts(served, target)[1] == "她走进，warehouse。"


def test_a_long_preview_shows_its_first_page_unless_asked_for_all(served: tuple[Server, Path]) -> None:
    many = add_project(served[0], {"Fish": "鱼 " * 250})
    short = findspot("replace", *many, "鱼", "鸟").out
    assert short.count("{+鸟+}") == 200
    assert "and 50 more; '--all' shows them." in short
    assert findspot("replace", *many, "鱼", "鸟", "--all").out.count("{+鸟+}") == 250
    assert len(findspot("replace", *many, "鱼", "鸟", "--json").json["items"][-1]["matches"]) == 50


def test_a_terminal_shows_colours_and_asks(target: tuple[str, ...], served: tuple[Server, Path]) -> None:
    coloured = findspot_on_terminal("replace", *target, "废弃仓库", "荒废工厂").out
    assert "\x1b[32m\x1b[1m荒废工厂" in coloured
    assert "[-" not in coloured
    with Terminal.running("replace", *target, "废弃仓库", "荒废工厂") as terminal:
        terminal.until("Replace 2 matches? [y/N]")
        terminal.type("n\n")
        assert terminal.end() == 1
        assert "Nothing was changed." in terminal.text
    with Terminal.running("replace", *target, "废弃仓库", "荒废工厂") as terminal:
        terminal.until("Replace 2 matches? [y/N]")
        terminal.type("y\n")
        terminal.until("Replaced 2 matches in 2 documents.")
        assert terminal.end() == 0
    assert "荒废工厂" in texts(served, target)[0]
