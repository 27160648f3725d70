"""Types of columns that SQLite and PostgreSQL keep alike."""

from datetime import UTC, datetime

import sqlalchemy as sa

# SQLite counts rows only in a column of exactly this type; PostgreSQL needs the wide one.
Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


class Timestamp(sa.TypeDecorator[datetime]):
    """A time in UTC. SQLite forgets the zone of a time, so it goes in and comes out as UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)


class ExactText(sa.TypeDecorator[str]):
    """Text kept as UTF-8 bytes, because PostgreSQL's text type refuses the character U+0000."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else value.encode()

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else bytes(value).decode()
