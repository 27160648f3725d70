"""Add an endpoint to the configuration file of an MCP client, or remove it. All other content is kept."""

import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findspot.surfaces.cli.failure import Failure

# Names on the command line, and display names.
CLIENTS = {
    "claude-code": "Claude Code",
    "claude-desktop": "Claude Desktop",
    "cursor": "Cursor",
    "vscode": "VS Code",
    "codex": "Codex",
}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """The URL and the key of an endpoint."""

    url: str
    key: str

    def over_http(self) -> dict[str, Any]:
        return {"url": self.url, "headers": {"Authorization": f"Bearer {self.key}"}}

    def as_command(self) -> dict[str, Any]:
        """Return a command that the client starts. The key is passed in the environment: arguments are public."""
        sibling = Path(sys.executable).with_name("findspot")
        program = str(sibling) if sibling.exists() else shutil.which("findspot") or "findspot"
        return {"command": program, "args": ["mcp"], "env": {"FINDSPOT_MCP_URL": self.url, "FINDSPOT_KEY": self.key}}


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file with an object of servers."""

    file: Path
    section: str
    name: str
    style: str

    def _value(self, entry: Entry) -> dict[str, Any]:
        if self.style == "command":
            return entry.as_command()
        return ({"type": "http"} if self.style == "typed" else {}) | entry.over_http()

    def render(self, entry: Entry) -> str:
        return _as_text({self.section: {self.name: self._value(entry)}})

    def write(self, entry: Entry) -> None:
        content = self._read()
        content.setdefault(self.section, {})[self.name] = self._value(entry)
        _replace(self.file, _as_text(content) + "\n")

    def entries(self) -> dict[str, Entry]:
        """Return the entries of the file that have a URL, by name."""
        return _entries(self._read().get(self.section, {}))

    def remove(self) -> bool:
        content = self._read()
        if content.get(self.section, {}).pop(self.name, None) is None:
            return False
        if not content[self.section]:
            del content[self.section]
        _replace(self.file, _as_text(content) + "\n" if content else None)
        return True

    def _read(self) -> dict[str, Any]:
        try:
            text = self.file.read_text("utf-8-sig") if self.file.exists() else ""
            content = json.loads(text) if text.strip() else {}
        except (OSError, ValueError) as error:
            raise _unreadable(self.file, error) from None
        if not isinstance(content, dict) or not isinstance(content.get(self.section, {}), dict):
            raise _unreadable(self.file, "its structure is not as expected")
        return content


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML file with a table for each server. All other text is kept unchanged."""

    file: Path
    section: str
    name: str

    def render(self, entry: Entry) -> str:
        value = entry.as_command()
        lines = [f"[{self.section}.{self.name}]", f"command = {json.dumps(value['command'])}", 'args = ["mcp"]', ""]
        lines.append(f"[{self.section}.{self.name}.env]")
        lines += [f"{name} = {json.dumps(text)}" for name, text in value["env"].items()]
        return "\n".join(lines)

    def write(self, entry: Entry) -> None:
        before = self._read()
        rest = self._without(before).rstrip("\n")
        self._write_checked(before, f"{rest}\n\n{self.render(entry)}\n" if rest else f"{self.render(entry)}\n")

    def entries(self) -> dict[str, Entry]:
        """Return the entries of the file that have a URL, by name."""
        return _entries(tomllib.loads(self._read()).get(self.section, {}))

    def remove(self) -> bool:
        before = self._read()
        after = self._without(before)
        if after == before:
            return False
        self._write_checked(before, after)
        return True

    def _without(self, text: str) -> str:
        """Return the text without the tables of this server, each from its heading to the next heading."""
        ours = re.compile(rf"\[{re.escape(self.section)}\.{re.escape(self.name)}(\.[^\]]*)?\]")
        lines, inside = [], False
        for line in text.splitlines(keepends=True):
            if line.startswith("["):
                inside = ours.match(line) is not None
            if not inside:
                lines.append(line)
        return "".join(lines).rstrip("\n") + "\n" if any(line.strip() for line in lines) else ""

    def _write_checked(self, before: str, after: str) -> None:
        """Write the file only if nothing else in it has changed."""
        try:
            unchanged = self._others(before) == self._others(after)
        except tomllib.TOMLDecodeError:  # a line inside a string was taken for a heading
            unchanged = False
        if not unchanged:
            raise _unreadable(self.file, "its structure is not as expected")
        _replace(self.file, after or None)

    def _others(self, text: str) -> dict[str, Any]:
        content = tomllib.loads(text)
        servers = content.get(self.section, {})
        servers.pop(self.name, None)
        if not servers:
            content.pop(self.section, None)
        return content

    def _read(self) -> str:
        try:
            text = self.file.read_text("utf-8") if self.file.exists() else ""
            tomllib.loads(text)
        except (OSError, ValueError) as error:
            raise _unreadable(self.file, error) from None
        return text


def _entries(servers: dict[str, Any]) -> dict[str, Entry]:
    found = {}
    for name, server in servers.items():
        known = server if isinstance(server, dict) else {}
        env, headers = known.get("env") or {}, known.get("headers") or {}
        url = known.get("url") or env.get("FINDSPOT_MCP_URL") or env.get("FINDSPOT_URL")  # an entry to replace
        key = env.get("FINDSPOT_KEY") or str(headers.get("Authorization", "")).removeprefix("Bearer ")
        if isinstance(url, str):
            found[name] = Entry(url, key)
    return found


def name_of(entries: Mapping[str, Entry], url: str | None) -> str | None:
    """Return the name of the entry that has a URL."""
    return next((name for name, entry in entries.items() if entry.url == url), None)


def free_name(entries: Mapping[str, Entry], url: str) -> str:
    """Return the name of the entry for a URL: the one it has, or one that no other entry has."""
    if (name := name_of(entries, url)) is not None:
        return name
    names = ("findspot", f"findspot-{url.rstrip('/').rpartition('/')[2]}", *(f"findspot-{n}" for n in range(2, 1000)))
    return next(name for name in names if name not in entries and _NAME.fullmatch(name))


def client_of(client: str, name: str) -> JsonFile | TomlFile:
    """Return the configuration file of a client, with the name of the entry in it."""
    if not _NAME.fullmatch(name):
        raise Failure("--name must be 1 to 64 ASCII letters, digits, '-' and '_'.", exit_code=2)
    home = Path.home()
    if client == "claude-code":
        folder = os.environ.get("CLAUDE_CONFIG_DIR")
        return JsonFile((Path(folder) if folder else home) / ".claude.json", "mcpServers", name, "typed")
    if client == "claude-desktop":
        return JsonFile(_app_folder() / "Claude" / "claude_desktop_config.json", "mcpServers", name, "command")
    if client == "cursor":
        return JsonFile(home / ".cursor" / "mcp.json", "mcpServers", name, "plain")
    if client == "vscode":
        return JsonFile(_app_folder() / "Code" / "User" / "mcp.json", "servers", name, "typed")
    return TomlFile(Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml", "mcp_servers", name)


def _app_folder() -> Path:
    """Return the folder where desktop applications keep their settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _as_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


def _unreadable(file: Path, why: object) -> Failure:
    advice = "Nothing was changed. '--print' shows what to add by hand."
    return Failure(f"{file} cannot be changed safely: {why}.", advice, 2)


def _replace(file: Path, text: str | None) -> None:
    """Replace the file atomically, or remove it if the text is None. Only its owner can read it: it contains a key."""
    target = file.resolve()  # keep a symbolic link
    try:
        if text is None:
            target.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror or error}.", exit_code=2) from None
