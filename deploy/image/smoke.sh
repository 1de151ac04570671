#!/bin/sh
# Builds both images and runs them as deploy/compose does, with a read-only root file system, without root and without capabilities.
# Needs Docker with compose, and the registries; some minutes. Ends with 0 when everything held; else the last line says what did not.
set -eu
cd "$(dirname "$0")/../.."
project="troupe-smoke-$$"
work=$(mktemp -d)
ROLES='gateway scheduler fetcher converter extractor dispatcher'

# Settings of the smoke test, and a small site; it is reached by its name in the network of the project, and so is everything else.
cat >"$work/smoke.yaml" <<'YAML'
x-settings: &settings
  environment:
    ALLOW_PRIVATE_TARGETS: 10.0.0.0/8,172.16.0.0/12,192.168.0.0/16
    TROUPE_BOOTSTRAP_KEYS: default:smoke
services:
  migrate: *settings
  gateway: { <<: *settings, ports: !reset [] }
  scheduler: *settings
  fetcher: *settings
  converter: *settings
  extractor: *settings
  dispatcher: *settings
  site:
    image: troupe:0.1.0
    entrypoint: [node, -e]
    command:
      - |
        const page = '<h1>Plain</h1><p id="p">Plain words of a page that needs no browser.</p>';
        const script = "<script>setTimeout(() => { p.textContent = 'Written by a script.' }, 50)</script>";
        require('node:http').createServer((request, response) => {
          response.writeHead(200, { 'content-type': 'text/html' });
          response.end('<main>' + page + (request.url === '/script' ? script : '') + '</main>');
        }).listen(8080);
    healthcheck: { disable: true }
YAML

compose() {
  POSTGRES_PASSWORD=smoke docker compose --project-name "$project" -f deploy/compose/compose.yaml -f "$work/smoke.yaml" \
    --profile state --profile converter "$@"
}

end() {
  status=$?
  [ "$status" -eq 0 ] || compose logs --tail 20 >&2 || true
  compose down --volumes --timeout 5 >/dev/null 2>&1 || true
  rm -rf "$work"
  exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM

# must WHAT COMMAND…
must() {
  what=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "ok: $what"
  else
    cat "$work/said" >&2
    echo "not so: $what" >&2
    exit 1
  fi
}

# ends_with CODE WORDS ARGUMENT…: the image with these arguments ends with CODE and says WORDS
ends_with() {
  code=$1
  words=$2
  shift 2
  said=$(docker run --rm --read-only --tmpfs /tmp --cap-drop ALL troupe:0.1.0 "$@" 2>&1) && status=0 || status=$?
  printf '%s\n' "$said"
  [ "$status" -eq "$code" ] && printf '%s' "$said" | grep -q "$words"
}

# inside SERVICE COMMAND…
inside() {
  service=$1
  shift
  compose exec -T "$service" "$@"
}

# says SERVICE WORD COMMAND…: the command inside prints exactly that word
says() {
  service=$1
  word=$2
  shift 2
  said=$(inside "$service" "$@")
  printf '%s\n' "$said"
  [ "$said" = "$word" ]
}

cannot_write() {
  ! inside "$1" touch "$2"
}

# Until the image's own health check passes in every role.
healthy() {
  compose up --detach site $ROLES
  for service in $ROLES; do
    container=$(compose ps --all --quiet "$service")
    tries=0
    until [ "$(docker inspect --format '{{.State.Health.Status}}' "$container")" = healthy ]; do
      tries=$((tries + 1))
      [ "$tries" -lt 90 ] || { echo "$service was not healthy within 90 s"; return 1; }
      sleep 1
    done
  done
}

# scraped PATH FORMATS WORDS: the gateway's answer for a page of the site has WORDS
scraped() {
  inside gateway node -e "
    fetch('http://127.0.0.1:3002/v2/scrape', {
      method: 'POST',
      headers: { authorization: 'Bearer smoke', 'content-type': 'application/json' },
      body: JSON.stringify({ url: 'http://site:8080$1', formats: $2, waitFor: 300 }),
    }).then(async (response) => console.log(await response.text()))" | tee "$work/page" | grep -q "$3"
}

drains() {
  compose stop --timeout 60
  for service in $ROLES; do
    code=$(docker inspect --format '{{.State.ExitCode}}' "$(compose ps --all --quiet "$service")")
    echo "$service: $code"
    [ "$code" -eq 0 ] || return 1
  done
}

must 'both images are built' compose build
must 'without a role the image says how it is used' ends_with 0 'usage: troupe'
must 'a role that there is not is refused' ends_with 64 'unknown role' nonsense
must 'missing settings are named, and the role ends' ends_with 78 DATABASE_URL gateway
must 'all roles become healthy' healthy
must 'migrate ends with 0 the second time, too' compose run --rm migrate
for service in gateway fetcher; do
  must "$service: the first process is the init" says "$service" tini cat /proc/1/comm
  must "$service: the user is 10001" says "$service" 10001 id -u
  for place in /app/x /etc/x /usr/x; do
    must "$service: $place cannot be written" cannot_write "$service" "$place"
  done
  for place in /tmp/x /data/x; do
    must "$service: $place can be written" inside "$service" touch "$place"
  done
  must "$service: there are no capabilities, and no way to get any" \
    inside "$service" sh -c 'grep -Eq "^CapEff:\s0+$" /proc/1/status && grep -Eq "^NoNewPrivs:\s1$" /proc/1/status'
done
must 'the image holds nothing that only a build needs' \
  inside gateway sh -c 'for place in dist/test dist/libs/testing apps libs node_modules/typescript node_modules/jest .git; do [ ! -e "/app/$place" ] || exit 1; done'
must 'a page is scraped over HTTP' scraped / '["markdown"]' 'Plain words'
must 'a page that a script writes is scraped in Chromium' scraped /script '["markdown", "screenshot"]' 'Written by a script'
must 'all roles end with 0 on SIGTERM' drains
