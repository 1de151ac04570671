#!/bin/sh
# Runs a command with a folder as its root file system. The caller has made the namespaces (unshare --mount --pid --fork …),
# so that nothing that is mounted here outlives the command.
#
#   in-root.sh build ROOT COMMAND…       writable, with the resolver of the machine; CA_FILE is shown as /dev/ca.crt
#   in-root.sh run ROOT DATA COMMAND…    read-only but for /tmp, /dev/shm and /data, which is the folder DATA
set -eu
mode=$1
root=$2
shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777,nosuid,nodev,size=512m tmpfs "$root/dev/shm"
for file in resolv.conf hosts; do
  [ -e "/etc/$file" ] && mount --bind "/etc/$file" "$root/etc/$file"
done
if [ "$mode" = build ]; then
  if [ -n "${CA_FILE:-}" ]; then cp "$CA_FILE" "$root/dev/ca.crt"; fi
else
  mount --bind "$1" "$root/data"
  shift
  mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
  mount -o remount,bind,ro "$root"
fi
cd "$root"
# Not chroot: in one Chromium could not have its sandbox, and a container has none.
pivot_root . .
umount -l .
cd /
exec "$@"
