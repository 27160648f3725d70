"""An agent without a model solves fifty tasks on excerpts of ten real tables and of 300 real documents.

`python -m bench.tasks --data DIR` lets it solve the same tasks on the whole tables and documents.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests import agent_tasks, real_tables
from tests.agent_tasks import DOCUMENTS, NUMBER_OF_DOCUMENTS, solve_on_documents, solve_on_table
from tests.mcp.real import open_real

TABLES = [source for source in agent_tasks.sources() if source != DOCUMENTS]


def test_there_are_fifty_tasks_in_two_languages_on_ten_tables_and_300_documents() -> None:
    tasks = agent_tasks.tasks()
    assert len(tasks) == 50
    assert Counter(task.source for task in tasks) == {**dict.fromkeys(TABLES, 4), DOCUMENTS: 10}
    assert len(TABLES) == 10
    assert len(agent_tasks.document_excerpts()) == NUMBER_OF_DOCUMENTS
    assert sum(re.search("[一-龥]", task.question) is not None for task in tasks) == 17


@pytest.mark.parametrize("table", TABLES)
def test_no_question_contains_its_answer_and_only_one_text_has_it(table: str) -> None:
    strings = [text for _, text in real_tables.strings(agent_tasks.excerpt(table))]
    for task in agent_tasks.tasks():
        if task.source == table:
            found = {match[1] for text in strings for match in task.pattern.finditer(text)}
            assert found == {task.answer}
            assert task.answer not in task.question
            assert task.answer not in task.pattern.pattern


@pytest.mark.parametrize("table", TABLES)
async def test_the_agent_solves_every_task_on_a_table(tmp_path: Path, table: str) -> None:
    tasks = [task for task in agent_tasks.tasks() if task.source == table]
    async with open_real(tmp_path / "data") as served:
        agent = await solve_on_table(served, agent_tasks.excerpt(table), tasks)
    assert [task.question for task in agent.unsolved] == []
    assert agent.calls >= 3 * len(tasks)  # it searched, read and wrote


async def test_the_agent_solves_every_task_on_three_hundred_documents(tmp_path: Path) -> None:
    tasks = [task for task in agent_tasks.tasks() if task.source == DOCUMENTS]
    async with open_real(tmp_path / "data") as served:
        agent = await solve_on_documents(served, agent_tasks.document_excerpts(), tasks)
    assert [task.question for task in agent.unsolved] == []


async def test_a_value_that_was_changed_is_noticed(tmp_path: Path) -> None:
    """The check can fail: with another value in the data, the agent writes that one down."""
    (table, *_) = TABLES
    tasks = [task for task in agent_tasks.tasks() if task.source == table][:1]
    value = agent_tasks.excerpt(table)
    for record in value["peps"]:
        record["body"] = tasks[0].pattern.sub(lambda found: found[0].replace(tasks[0].answer, "999"), record["body"])
    async with open_real(tmp_path / "data") as served:
        agent = await solve_on_table(served, value, tasks)
    assert agent.unsolved == tasks
