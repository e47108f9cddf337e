#!/usr/bin/env bash
# Install Debian packages that some tests need, if they are missing and this is root; otherwise say how.
# Usage: tools/system_packages.sh PACKAGE...   Exit code 1 if one of them is missing in the end.
set -euo pipefail

is_missing() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" != installed ]
}

missing=()
for package in "$@"; do
  if is_missing "$package"; then missing+=("$package"); fi
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "Installing ${missing[*]} (once)"
  export DEBIAN_FRONTEND=noninteractive
  if { apt-get -qq update && apt-get -qq install --yes --no-install-recommends "${missing[@]}"; } >/dev/null; then
    exit 0
  fi
fi
echo "Not installed: ${missing[*]}. Tests that need them are skipped; as root on Debian or Ubuntu run" \
  "apt-get install ${missing[*]}" >&2
exit 1
