#!/bin/sh
# Makes a base image for the sandbox images without a registry, from Debian packages alone.
#
#   containers/images/make-base.sh [IMAGE] [SUITE] [MIRROR]        as root; needs debootstrap and docker
#
# It holds Debian's Python 3.11 and the two libraries that the CAD kernel takes from the system. Files that nothing here
# uses (graphics drivers, LLVM, documentation, package lists) are left out, and every file has the same time, so that the
# same packages give the same image.
set -eu

image=${1:-makerspace-base:local} suite=${2:-bookworm} mirror=${3:-}
: "${SOURCE_DATE_EPOCH:=1735689600}"

for program in debootstrap docker tar; do
  command -v "$program" >/dev/null || { echo "make-base.sh: $program is not installed" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "make-base.sh: debootstrap must run as root" >&2; exit 2; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
if ! debootstrap --variant=minbase --include=python3,python3-venv,libgl1,libexpat1,ca-certificates \
  "$suite" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1; then
  tail -20 "$root.log" >&2
  exit 1
fi
rm -f "$root.log"

cd "$root"
rm -rf usr/lib/*/libLLVM* usr/lib/*/dri usr/lib/*/libicudata* usr/lib/*/libz3* usr/share/doc usr/share/man \
  usr/share/locale usr/share/info usr/lib/udev var/cache/* var/lib/apt/lists/* var/log/* tmp/* etc/machine-id dev/*
find . -name __pycache__ -type d -prune -exec rm -rf {} +
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner -c . |
  docker import --change 'ENV LC_ALL=C.UTF-8' --change 'CMD ["python3"]' - "$image" >/dev/null
docker image inspect --format '{{index .RepoTags 0}}  {{.Id}}  {{.Size}} bytes' "$image"
