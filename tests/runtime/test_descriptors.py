"""Limits on file descriptors."""

import resource
import subprocess
import sys

import pytest

from findspot.runtime import descriptors
from findspot.runtime.descriptors import DescriptorLimit


@pytest.mark.parametrize(
    ("soft", "connections", "backlog"),
    [(64, 32, 4), (256, 128, 16), (1_024, 512, 64), (4_096, 2_048, 256), (65_536, 10_000, 2_048)],
)
def test_connections_leave_descriptors_for_the_engine_and_the_database(
    soft: int, connections: int, backlog: int
) -> None:
    limit = DescriptorLimit(soft, soft)
    assert (limit.connections(10_000), limit.backlog) == (connections, backlog)


def test_a_setting_lowers_the_connections_and_cannot_take_the_reserve() -> None:
    assert DescriptorLimit(65_536, 65_536).connections(300) == 300
    assert DescriptorLimit(1_024, 1_024).connections(100_000) == 512


def test_the_soft_limit_is_raised_up_to_the_hard_limit_and_never_lowered() -> None:
    assert DescriptorLimit(1_024, 4_096).raised == DescriptorLimit(4_096, 4_096)
    assert DescriptorLimit(1_024, 1_000_000).raised == DescriptorLimit(65_536, 1_000_000)
    assert DescriptorLimit(100_000, 1_000_000).raised == DescriptorLimit(100_000, 1_000_000)


_RAISE = """
import resource
from findspot.runtime import descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 300))
descriptors.raise_limit()
print(descriptors.current())
"""


def test_a_process_raises_its_own_limit() -> None:
    ended = subprocess.run([sys.executable, "-c", _RAISE], capture_output=True, text=True, check=True)
    assert ended.stdout == "DescriptorLimit(soft=300, hard=300)\n"
    assert descriptors.current().soft == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
