# Runs a server under a launcher that may die at any moment.
#
#   sh guard.sh <signal> <grace seconds> <command> [argument …]
#
# Descriptor 3 is a pipe from the launcher: when it closes (the launcher asked for it, or was killed), the server gets
# <signal>, and SIGKILL after the grace time. Descriptor 4 tells the launcher the server's process id.
# The guard ends with the server's exit status.
stop_signal=$1
grace=$2
shift 2

"$@" 3<&- 4>&- &
server=$!
echo "$server" >&4
exec 4>&-

(
  read -r _ <&3
  kill -s "$stop_signal" "$server" 2>/dev/null
  waited=0
  while [ "$waited" -lt "$grace" ] && kill -s 0 "$server" 2>/dev/null; do
    sleep 1
    waited=$((waited + 1))
  done
  kill -s KILL "$server" 2>/dev/null
) &
reader=$!
exec 3<&-

trap '' INT TERM HUP
wait "$server"
status=$?
kill -s TERM "$reader" 2>/dev/null
exit "$status"
