# Sourced by .ci/run: sandboxes in Docker, with an engine of this run's own unless one answers already.

# The engine ends with the run, and its files with it.
start_docker() {
  docker version >/dev/null 2>&1 && return
  local home
  home=$(mktemp -d)
  export DOCKER_HOST=unix://$home/docker.sock
  dockerd --host "$DOCKER_HOST" --data-root "$home/data" --exec-root "$home/exec" --pidfile "$home/pid" >"$home/log" 2>&1 &
  # shellcheck disable=SC2064
  trap "kill \$(cat $home/pid); wait; rm -rf $home" EXIT
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
  .venv/bin/makerspace sandbox build --base-image "$BASE_IMAGE" --torch torch==2.13.0 | grep -v '^--->\|^Removing\|^Step'
}

# A sample of the conformance rules for every registered family, with applications and scorers in containers.
conform_in_docker() {
  .venv/bin/makerspace check --all --runtime docker --only oracle --only blind --only fork --only replay
}

# The whole arrangement to a first trained step, as `docker compose up` does it.
compose_up() {
  RUN=ci docker-compose run --rm trainer train --preset demo --runtime docker --steps 1 --tasks 10 --out /runs/ci
  local status=$?
  docker-compose down --volumes --timeout 2
  return $status
}
