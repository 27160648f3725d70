"""Where is the data? In one database, SQLite or PostgreSQL. Every index can be computed from it again."""
