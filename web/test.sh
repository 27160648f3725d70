#!/usr/bin/env bash
# Test the web client: its components, then all of it in Chromium. Say what is skipped, and why.
set -euo pipefail
cd "$(dirname "$0")"

find_chromium() {
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    [ -n "$name" ] && command -v "$name" && return
  done
  return 1
}

if ! chromium=$(find_chromium) && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  echo "Installing Chromium for the browser tests"
  (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-noto-cjk) > /dev/null 2>&1 || true
fi
if chromium=$(find_chromium); then
  CHROMIUM=$chromium npx vitest run --project unit --project component --project e2e
else
  npx vitest run --project unit --project component
  echo "SKIPPED the browser tests: there is no Chromium. Install it (Debian: apt-get install chromium), or set CHROMIUM."
fi
