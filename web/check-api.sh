#!/usr/bin/env bash
# Fail if the generated API client differs from what the server's OpenAPI leads to. `--write` updates it.
set -euo pipefail
cd "$(dirname "$0")"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
../.venv/bin/findspot openapi "$fresh/openapi.json"
FINDSPOT_OPENAPI="$fresh/openapi.json" FINDSPOT_CLIENT="$fresh/generated" npx openapi-ts --silent
# Comments of the generator link to pages about packages; their names are enough.
sed -i.bak -E 's#\{@link https://[^ ]+ (`[^`]+`)\}#\1#' "$fresh/generated/client/types.gen.ts" && rm "$fresh/generated/client/types.gen.ts.bak"
if [ "${1:-}" = --write ]; then
  rm -rf src/api/generated
  cp -r "$fresh/generated" src/api/generated
elif ! diff -rq "$fresh/generated" src/api/generated; then
  echo "web/src/api/generated is out of date; run web/check-api.sh --write"
  exit 1
fi
