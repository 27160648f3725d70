"""Which project something belongs to, on both databases."""

from findspot.store import documents, projects
from findspot.store.database import Store
from findspot.store.owners import Owned, project_of


async def test_the_project_of_something_is_found_by_its_id(store: Store) -> None:
    async with store.write() as connection:
        project = await projects.create(connection, "p")
        new = documents.NewDocument("标题", "document", "text", b"x", 1)
        document = await documents.create(connection, project.id, new)
    async with store.lookup() as connection:
        assert await connection.run_sync(project_of, Owned.PROJECT, project.id) == project.id
        assert await connection.run_sync(project_of, Owned.DOCUMENT, document.id) == project.id
        for owned in Owned:
            assert await connection.run_sync(project_of, owned, 10**17) is None
