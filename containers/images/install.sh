#!/bin/sh
# The steps of the images' Dockerfiles; runs inside a build.
set -eu
what=$1 with=$2
shift
: "${SOURCE_DATE_EPOCH:=1735689600}"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore

offline=
for wheel in /build/*.whl; do
  [ ! -e "$wheel" ] || offline="--no-index --find-links /build"
done

# Bytecode that holds no time, and is not compared with its source: the same source gives the same files.
compiled() {
  PYTHONHASHSEED=0 python3 -m compileall -q -f -j 0 --invalidation-mode unchecked-hash "$1" || true
  find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# Without what wheels bring for editors and compilers, and without CasADi's solvers: the CAD kernel loads its core alone.
trimmed() {
  find "$1" -type f \( -name '*.pyi' -o -name '*.a' -o -name '*.la' \) -delete
  for casadi in "$1"/lib/python3*/site-packages/casadi; do
    [ -d "$casadi" ] || continue
    rm -rf "$casadi/include" "$casadi/cmake" "$casadi/pkgconfig"
    find "$casadi" -maxdepth 1 -type f ! -name '*.py' ! -name _casadi.so ! -name 'libcasadi.so*' -delete
  done
}

case $what in
  dependencies)
    python3 -m venv /opt/makerspace
    # shellcheck disable=SC2086
    [ -z "${TORCH:-}" ] || /opt/makerspace/bin/pip install --quiet --no-compile $offline --only-binary :all: "$TORCH"
    # shellcheck disable=SC2086
    /opt/makerspace/bin/pip install --quiet --no-compile $offline --only-binary :all: --no-deps --require-hashes -r "$with"
    /opt/makerspace/bin/pip uninstall --quiet --yes pip setuptools
    trimmed /opt/makerspace
    compiled /opt/makerspace
    ;;
  code)
    python3 -m venv /tools
    # shellcheck disable=SC2086
    /tools/bin/pip install --quiet --no-compile $offline --require-hashes -r /build/build.txt
    /tools/bin/pip install --quiet --no-compile --no-index --no-build-isolation --no-deps --target /opt/code "$with"
    rm -rf /opt/code/bin
    compiled /opt/code
    ;;
  libraries)
    # Only the files that are really linked to, of packages that bring much more.
    find / -xdev -name '*.so*' | sort >/before
    dpkg -s "$@" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; }
    mkdir -p /libraries/opt
    : >/libraries/opt/libraries  # their list, which is never missing: old Docker stumbles over a COPY of nothing
    find /opt/makerspace -name '*.so*' -type f -exec ldd {} + 2>/dev/null | awk '/=> \// {print $3}' | sort -u |
      while read -r file; do
        real=$(readlink -f "$file")
        grep -qxF "$file" /before || grep -qxF "$real" /before || { cp --parents "$real" /libraries && echo "$file" >>/libraries/opt/libraries; }
        [ "$file" = "$real" ] || [ ! -e "/libraries$real" ] || ln -sf "$(basename "$real")" "$(dirname "/libraries$real")/$(basename "$file")"
      done
    find /libraries -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    ;;
esac
