"""The values of the domain."""

import pytest

from findspot.models import Role, documents_namespace, table_namespace


@pytest.mark.scenario("001.decision.namespace", "003.namespace.format")
def test_a_namespace_is_named_after_its_project_and_its_table() -> None:
    assert table_namespace(12, 3) == "project_12_table_3"
    assert documents_namespace(12) == "project_12_documents"
    assert len({table_namespace(1, 11), table_namespace(11, 1), documents_namespace(1)}) == 3


def test_each_role_includes_the_ones_before_it_only() -> None:
    order = [Role.READ, Role.WRITE, Role.ADMIN, Role.OWNER]
    for place, role in enumerate(order):
        assert [role.covers(other) for other in order] == [other <= place for other in range(4)]
