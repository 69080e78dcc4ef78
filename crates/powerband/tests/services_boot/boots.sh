# Two boots of systemd in containers over a Debian tree, with a fresh simulated machine in place of the CPUs at each boot, so that each begins with
# the kernel's defaults. Given: $P powerband, $TREE the tree, $SIM the machine, $SETUP what configures the tree, $FIRST and $SECOND
# what runs in each boot once it is up. Runs in a mount namespace of its own.
set -e
W=$(mktemp -d)
trap 'umount "$W/m" 2>/dev/null; umount "$W"; rmdir "$W"' EXIT
mount -t tmpfs none "$W"
mkdir "$W/u" "$W/w" "$W/m"
mount -t overlay none -o "lowerdir=$TREE,upperdir=$W/u,workdir=$W/w" "$W/m"
R=$W/m
U=$R/etc/systemd/system
rm -f "$U"/multi-user.target.wants/* "$U"/*.wants/tlp* "$R"/etc/rc?.d/S??cpufrequtils "$R"/etc/rc?.d/S??loadcpufreq "$R"/etc/rc?.d/S??tlp
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
cat >"$U/run.service" <<'X'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c '/bin/sh /run.sh >/result 2>&1; systemctl --no-block poweroff'
X
ln -sf ../run.service "$U/multi-user.target.wants/"
# libudev believes only what lies on a sysfs.
printf '[Service]\nEnvironment=SYSTEMD_DEVICE_VERIFY_SYSFS=0\n' >"$U/tuned.service.d/sim.conf"

governor_of_tuned() {
  mkdir -p "$R/etc/tuned/mine"
  printf '[main]\nsummary=mine\n[cpu]\ngovernor=%s\n' "$1" >"$R/etc/tuned/mine/tuned.conf"
  echo mine >"$R/etc/tuned/active_profile"; echo manual >"$R/etc/tuned/profile_mode"
  enable tuned
}
governor_of_tlp() {
  printf 'CPU_SCALING_GOVERNOR_ON_AC=%s\nCPU_SCALING_GOVERNOR_ON_BAT=%s\n' "$1" "$1" >"$R/etc/tlp.d/10-mine.conf"
  enable tlp
}
governor_of_cpufrequtils() {
  printf 'ENABLE="true"\nGOVERNOR="%s"\n' "$1" >"$R/etc/default/cpufrequtils"
  started cpufrequtils
}
governor_of_cpupower() {
  echo "governor='$1'" >"$R/etc/default/cpupower"
  printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nEnvironmentFile=/etc/default/cpupower\nExecStart=/usr/bin/cpupower frequency-set -g $governor\n[Install]\nWantedBy=multi-user.target\n' >"$U/cpupower.service"
  enable cpupower
}
governor_of_cpuspeed() {
  mkdir -p "$R/etc/sysconfig"; echo "GOVERNOR=$1" >"$R/etc/sysconfig/cpuspeed"
  cat >"$R/etc/init.d/cpuspeed" <<'X'
#!/bin/sh
### BEGIN INIT INFO
# Provides: cpuspeed
# Required-Start: $local_fs
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
[ "$1" = start ] || exit 0
. /etc/sysconfig/cpuspeed
for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo ${GOVERNOR:-ondemand} >$f; done
X
  chmod +x "$R/etc/init.d/cpuspeed"
  started cpuspeed
}
governor_of_thermald() { enable thermald; }
governor_of_irqbalance() { enable irqbalance; }
governor_of_NetworkManager() { enable NetworkManager; }
governor_of_networkd() { enable systemd-networkd; }
governor_of_power_profiles() { enable power-profiles-daemon; }
enable() {
  if [ -e "$U/$1.service" ]; then at=../$1.service; else at=/lib/systemd/system/$1.service; fi
  ln -sf "$at" "$U/multi-user.target.wants/$1.service"
}
started() { for l in 2 3 4 5; do ln -sf "../init.d/$1" "$R/etc/rc$l.d/S01$1"; done; }

# A boot without systemd: the scripts of runlevel 3 one after the other, and the governor after each.
cat >"$R/rc.sysv" <<'X'
mount --bind /sim/sys/devices/system/cpu /sys/devices/system/cpu
mount --bind /sim/proc/stat /proc/stat
governor() { cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor; }
echo "kernel: $(governor)"
for s in /etc/rc3.d/S*; do "$s" start; echo "${s##*/}: $(governor)"; done
sh /run.sh
X

boot() {
  # Some start after everything else, and are still at it: TLP and the checks of other units.
  { [ "$INIT" = sysv ] || printf '%s\n' 'n=0; while systemctl list-jobs --no-legend | grep -qv run.service && [ $n -lt 600 ]; do n=$((n+1)); sleep 0.1; done'
    printf '%s\n' "$1"; } >"$R/run.sh"
  M=$(mktemp -d "$W/sim.XXXX"); B=$(mktemp -d "$W/bus.XXXX")
  "$P" sim mount "$SIM" "$M" --root >"$W/served" 2>&1 & S=$!
  n=0; until [ -e "$M/proc/stat" ]; do n=$((n+1)); [ $n -lt 600 ] || { cat "$W/served"; exit 9; }; sleep 0.1; done
  for c in "$M"/sys/devices/system/cpu/cpu[0-9]*; do ln -s "../../../devices/system/cpu/${c##*/}" "$B/"; done
  rm -f "$R/result"
  if [ "$INIT" = sysv ]; then set -- /bin/sh -c 'sh /rc.sysv >/result 2>&1'; else set -- --boot; fi
  timeout 180 systemd-nspawn -q -D "$R" --register=no --keep-unit --private-network --bind="$M:/sim" --bind="$B:/simbus" \
    --bind-ro="$P:/usr/local/bin/powerband" "$@" </dev/null >"$W/console" 2>&1 || { cat "$W/console"; exit 9; }
  kill -TERM $S; wait $S || true
  cat "$R/result"
}

eval "$SETUP"
echo "== first"; boot "$FIRST"
echo "== second"; boot "$SECOND"
[ -z "$THIRD" ] || { echo "== third"; boot "$THIRD"; }
