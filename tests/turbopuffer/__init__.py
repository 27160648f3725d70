"""A stand-in for turbopuffer: the documented v2 HTTP API, for tests. There is no official emulator.

It is written from the vendor's documentation and driven only by the official SDK. A rule names its page, for example
"docs/write" for https://turbopuffer.com/docs/write. Where the pages leave something open, the comment says what was
assumed. It is strict: an unknown field is an error, although the service may ignore some.
"""
