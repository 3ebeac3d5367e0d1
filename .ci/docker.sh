# Sourced by .ci/run: a Docker engine of its own for this run, unless one answers already. It ends with the run.

start_docker() {
  docker version >/dev/null 2>&1 && return
  local home
  home=$(mktemp -d)
  export DOCKER_HOST=unix://$home/docker.sock
  dockerd --host "$DOCKER_HOST" --data-root "$home/data" --exec-root "$home/exec" --pidfile "$home/pid" >"$home/log" 2>&1 &
  trap 'kill "$(cat '"$home"'/pid)"; wait; rm -rf '"$home" EXIT
  for _ in $(seq 60); do
    docker version >/dev/null 2>&1 && return
    sleep 0.5
  done
  tail -20 "$home/log"
  return 1
}

# The base image comes from Debian packages, as for users without a registry; then the images of all worlds.
build_images() {
  export MAKERSPACE_BASE_IMAGE=makerspace-base:ci BASE_IMAGE=makerspace-base:ci
  docker image inspect "$BASE_IMAGE" >/dev/null 2>&1 || containers/images/make-base.sh "$BASE_IMAGE" || return
  .venv/bin/makerspace sandbox build --base-image "$BASE_IMAGE"
}
