"""The one shape of every error."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from findspot.errors import KINDS
from findspot.surfaces.http.models.json import one_of

ErrorCode = TypeAliasType("ErrorCode", Annotated[str, one_of(*KINDS)])


class ApiError(TypedDict):
    """An error: `code` for programs, `message` for people. Which other fields there are depends on the code."""

    code: ErrorCode
    message: str
    field: NotRequired[Annotated[str, Field(description="The input that is wrong.")]]
    json_pointer: NotRequired[Annotated[str, Field(description="The JSON pointer of the node that is wrong.")]]
    index: NotRequired[Annotated[int, Field(description="The index of the text that is refused.")]]
    reason: NotRequired[Annotated[str, Field(description="Why it is refused.")]]
    limit: NotRequired[Annotated[int, Field(description="The limit that was passed.")]]
    revision: NotRequired[Annotated[int, Field(description="The current revision.")]]
    operation: NotRequired[Annotated[int, Field(description="The index of the patch operation that does not fit.")]]
    tool_id: NotRequired[Annotated[int, Field(description="The tool that is not there.")]]
    position: NotRequired[
        Annotated[int, Field(description="The character of a pattern or query that is wrong, from 0.")]
    ]
    construct: NotRequired[Annotated[str, Field(description="The part of a pattern that is not supported.")]]
    rulesTokens: NotRequired[Annotated[int, Field(description="The tokens of the rules layer.")]]
    maxTokens: NotRequired[Annotated[int, Field(description="The tokens that a context may have.")]]
    expected: NotRequired[Annotated[int, Field(description="The declared dimensions of vectors.")]]
    found: NotRequired[Annotated[int, Field(description="The dimensions of the vectors that came.")]]
    reads: NotRequired[Annotated[bool, Field(description="Whether searches and reads still work.")]]
    writes: NotRequired[Annotated[bool, Field(description="Whether changes are possible.")]]
    retryAfterMs: NotRequired[Annotated[int, Field(description="Milliseconds to wait before the next attempt.")]]
    notice: NotRequired[Annotated[str, Field(description="The reason in the caller's language.")]]
    requestId: NotRequired[Annotated[str, Field(description="The request, as the server's log names it.")]]
