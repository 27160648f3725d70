"""How is text changed in many documents at once? A preview, then the change, then perhaps its undo.

`rule`, `matching` and `rewrite` are pure: what matches, and how a content looks afterwards; docs/replace-rules.md. The
flows are `preview`, `execute`, `undo` and `editor_matches`; docs/replace.md. `contents` runs in helper processes.
"""
