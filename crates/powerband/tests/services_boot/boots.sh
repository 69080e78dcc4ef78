# Boots of containers over a Debian tree, one after the other, with a fresh simulated machine in place of the CPUs at each boot, so that each
# begins with the kernel's defaults. Given: $P powerband, $TREE the tree, $SIM the machine, $INIT, $SETUP what configures the tree, $DAEMONS the
# functions for that, and as arguments what runs in each boot once it is up. Runs in a mount namespace of its own.
set -e
W=$(mktemp -d)
trap 'umount "$W/m" 2>/dev/null; umount "$W"; rmdir "$W"' EXIT
mount -t tmpfs none "$W"
mkdir "$W/u" "$W/w" "$W/m"
mount -t overlay none -o "lowerdir=$TREE,upperdir=$W/u,workdir=$W/w" "$W/m"
R=$W/m
. "$DAEMONS"
{ echo R=; cat "$DAEMONS"; } >"$R/daemons.sh"
none
mkdir -p "$R/sim" "$R/simbus" "$U/local-fs.target.wants" "$U/multi-user.target.wants" "$U/tuned.service.d"
touch "$R/usr/local/bin/powerband"
bound() {
  printf '[Unit]\nDefaultDependencies=no\nBefore=local-fs.target sysinit.target\n[Mount]\nWhat=%s\nWhere=%s\nType=none\nOptions=bind\n' "$2" "$3" >"$U/$1"
  ln -sf "../$1" "$U/local-fs.target.wants/"
}
# What nspawn binds there itself lies below the sysfs that it mounts later.
bound sys-devices-system-cpu.mount /sim/sys/devices/system/cpu /sys/devices/system/cpu
bound proc-stat.mount /sim/proc/stat /proc/stat
bound proc-cpuinfo.mount /sim/proc/cpuinfo /proc/cpuinfo
bound sys-bus-cpu-devices.mount /simbus /sys/bus/cpu/devices
cat >"$U/run.service" <<'Y'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c '/bin/sh /run.sh >/result 2>&1; systemctl --no-block poweroff'
Y
# libudev believes only what lies on a sysfs.
printf '[Service]\nEnvironment=SYSTEMD_DEVICE_VERIFY_SYSFS=0\n' >"$U/tuned.service.d/sim.conf"

# A boot without systemd: the scripts of runlevel 3 one after the other, and the governor after each.
cat >"$R/rc.sysv" <<'Y'
mount --bind /sim/sys/devices/system/cpu /sys/devices/system/cpu
mount --bind /sim/proc/stat /proc/stat
governor() { cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor; }
echo "kernel: $(governor)"
for s in /etc/rc3.d/S*; do "$s" start; echo "${s##*/}: $(governor)"; done
sh /run.sh
Y

boot() {
  # Some start after everything else, and are still at it: TLP and the checks of other units.
  { [ "$INIT" = sysv ] || printf '. /daemons.sh\nuntil acted; do sleep 0.1; done\n'; printf '%s\n' "$1"; } >"$R/run.sh"
  M=$(mktemp -d "$W/sim.XXXX"); B=$(mktemp -d "$W/bus.XXXX")
  "$P" sim mount "$SIM" "$M" --root >"$W/served" 2>&1 & S=$!
  until [ -e "$M/proc/stat" ]; do kill -0 $S || { cat "$W/served"; exit 9; }; sleep 0.1; done
  for c in "$M"/sys/devices/system/cpu/cpu[0-9]*; do ln -s "../../../devices/system/cpu/${c##*/}" "$B/"; done
  rm -f "$R/result" "$R/var/log/tuned/tuned.log"
  if [ "$INIT" = sysv ]; then set -- /bin/sh -c 'sh /rc.sysv >/result 2>&1'; else set -- --boot; fi
  timeout 900 systemd-nspawn -q -D "$R" --register=no --keep-unit --private-network --bind="$M:/sim" --bind="$B:/simbus" \
    --bind-ro="$P:/usr/local/bin/powerband" "$@" </dev/null >"$W/console" 2>&1 || { cat "$W/console" "$R/result"; exit 9; }
  kill -TERM $S; wait $S || true
  cat "$R/result"
}

eval "$SETUP"
for script; do echo "== "; boot "$script"; done
