"""What every endpoint tells an agent about itself."""

INSTRUCTIONS = (
    "Findspot holds JSON tables and long texts. Search first: a hit is a passage with its exact position. "
    "Read the whole value behind a hit by its resource link, and query or preview instead of fetching everything."
)
